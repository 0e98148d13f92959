import Synchronization

/// A snapshot of a file's content for an upload (I3).
///
/// It reads the content file itself until that is about to change, and then a clone of it. The code
/// that changes content calls ``detach(to:)`` first.
final class FrozenContent: ByteSource {
    let size: UInt64
    /// The path of the clone, if one is needed.
    let clonePath: DiskPath

    private struct State {
        var file: any DiskFile
        var isDetached = false
        var isAbandoned = false
    }

    private let state: Mutex<State>

    init(_ file: any DiskFile, size: UInt64, clonePath: DiskPath) {
        self.size = size
        self.clonePath = clonePath
        state = Mutex(State(file: file))
    }

    var isDetached: Bool { state.withLock(\.isDetached) }

    /// Continues from a clone with the same bytes; returns once no read of the old file is in
    /// progress.
    func detach(to clone: any DiskFile) {
        state.withLock { state in
            state.file = clone
            state.isDetached = true
        }
    }

    /// Makes all further reads fail: the content is about to change and there is no room for a
    /// clone.
    func abandon() {
        state.withLock { state in
            state.isDetached = true
            state.isAbandoned = true
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        // The lock is held during the read, so that none is in progress when `detach` returns.
        try state.withLock { state in
            guard !state.isAbandoned else {
                throw DiskError(
                    .full, attempt: "clone the content that is being uploaded",
                    reason: "not enough space on the disk")
            }
            guard offset < size else { return 0 }
            let count = Int(min(UInt64(buffer.count), size - offset))
            let read = try state.file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), at: offset)
            guard read == count else {
                throw DiskError(
                    .failed, attempt: "read \(count) bytes at \(offset) of a frozen file",
                    reason: "only \(read) bytes are available")
            }
            return read
        }
    }
}
