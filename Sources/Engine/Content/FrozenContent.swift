import Digests
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
        /// nil once the snapshot is abandoned.
        var file: (any DiskFile)?
        var isDetached = false
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
        state.withLock { $0 = State(file: clone, isDetached: true) }
    }

    /// Makes all further reads fail: the content is about to change and there is no room for a
    /// clone.
    func abandon() {
        state.withLock { $0 = State(file: nil, isDetached: true) }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        // The lock is held during the read, so that none is in progress when `detach` returns.
        try state.withLock { state in
            guard let file = state.file else {
                throw DiskError(
                    .full, attempt: "clone the content that is being uploaded",
                    reason: "not enough space on the disk")
            }
            guard offset < size else { return 0 }
            let count = Int(min(UInt64(buffer.count), size - offset))
            let read = try file.read(
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

extension ContentDigest {
    init(of source: FrozenContent) throws {
        var hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        // A read either fills the buffer or throws.
        while offset < source.size {
            let count = try source.read(into: buffer, at: offset)
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += UInt64(count)
        }
        bytes = hash.finalize()
    }
}
