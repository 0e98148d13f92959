import Digests
import Synchronization

/// A snapshot of a file's content for an upload (I3).
///
/// If the file system shares bytes, it is a clone, made before the file changes. Otherwise it reads
/// the content file itself, and before a piece of that changes, the piece is copied to a file
/// beside it: see ``preserve(_:)``. A read that was overtaken by a change is repeated from the copy.
/// No lock is held during a read or a copy.
final class FrozenContent: ByteSource {
    let size: UInt64
    /// The path of the clone or of the copied pieces.
    private let copyPath: DiskPath
    private let disk: any Disk
    private let pieceBytes: UInt64
    /// Notified when a piece was copied, and at the end.
    private let changes = Signal()

    private struct State {
        let original: any DiskFile
        /// The clone, or the file with the copied pieces.
        var copy: (any DiskFile)?
        /// The bytes that are read from ``copy``.
        var preserved = ExtentSet()
        /// The pieces that are being copied.
        var copying = ExtentSet()
        /// Whether a clone may still be made.
        var isSharable = true
        /// Why it cannot be read any more: its upload ended, or it was abandoned.
        var end: DiskError?

        /// Returns a file with the first part of a range, and the length of that part.
        func source(of range: Range<UInt64>) throws(DiskError) -> Source {
            if let end { throw end }
            let gap = preserved.firstGap(in: range)
            if let gap, gap.lowerBound == range.lowerBound {
                return Source(file: original, range: gap, isCopy: false)
            }
            guard let copy else { preconditionFailure("preserved bytes are in a copy") }
            let end = gap?.lowerBound ?? range.upperBound
            return Source(file: copy, range: range.lowerBound..<end, isCopy: true)
        }

        /// Returns the first part of some ranges that is not being copied.
        func firstFree(in gaps: [Range<UInt64>]) -> Range<UInt64>? {
            gaps.lazy.compactMap { copying.firstGap(in: $0) }.first
        }

        /// Whether the content file still has a range as it was frozen.
        func isUnchanged(_ range: Range<UInt64>) -> Bool {
            end == nil && preserved.firstGap(in: range) == range
        }
    }

    private struct Source {
        let file: any DiskFile
        let range: Range<UInt64>
        let isCopy: Bool
    }

    private let state: Mutex<State>

    /// - Parameter pieceBytes: The unit of copying.
    init(
        _ file: any DiskFile, size: UInt64, on disk: any Disk, copyPath: DiskPath,
        pieceBytes: UInt64
    ) {
        self.size = size
        self.disk = disk
        self.copyPath = copyPath
        self.pieceBytes = pieceBytes
        state = Mutex(State(original: file))
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        guard offset < size else { return 0 }
        let count = Int(min(UInt64(buffer.count), size - offset))
        var done = 0
        while done < count {
            let wanted = offset + UInt64(done)..<offset + UInt64(count)
            let source = try state.withLock { state throws(DiskError) in
                try state.source(of: wanted)
            }
            let part = done..<done + source.range.count
            let read = try source.file.read(
                into: UnsafeMutableRawBufferPointer(rebasing: buffer[part]),
                at: source.range.lowerBound)
            // A change preserves the bytes before it begins, so it cannot have begun unseen.
            guard source.isCopy || state.withLock({ $0.isUnchanged(source.range) }) else {
                continue
            }
            guard read == part.count else {
                throw DiskError(
                    .failed, attempt: "read \(count) bytes at \(offset) of a frozen file",
                    reason: "only \(done + read) bytes are available")
            }
            done += read
        }
        return count
    }
}

// MARK: - Changes of the file

extension FrozenContent {
    /// Makes a clone that shares the file's bytes, if the file system can and the file has not
    /// changed yet. The caller ensures that it does not change meanwhile.
    func share() throws(DiskError) {
        let original = state.withLock { state in
            defer { state.isSharable = false }
            return state.isSharable && state.end == nil ? state.original : nil
        }
        guard let original, let clone = try disk.share(original, to: copyPath) else { return }
        state.withLock { state in
            state.copy = clone
            state.preserved = .everything
        }
    }

    /// Returns the number of bytes in a range that a change there would take from the snapshot.
    func bytesAtRisk(in range: Range<UInt64>) -> UInt64 {
        let range = clamped(range)
        return state.withLock { state in
            if state.end != nil { return 0 }
            return state.preserved.gaps(in: range).reduce(0) { $0 + UInt64($1.count) }
        }
    }

    /// Copies the pieces of a range that are not copied yet; the range may change afterwards. If
    /// that fails, the snapshot is abandoned, so that the change can be made all the same.
    func preserve(_ range: Range<UInt64>) async throws(DiskError) {
        while !Task.isCancelled {
            let notifications = changes.notifications
            switch try claim(clamped(range)) {
            case .nothing: return
            case .elsewhere: await changes.wait(after: notifications)
            case .piece(let piece, let original, let copy):
                // Requests that need no copy take precedence.
                await Task.yield()
                try preserve(piece, of: original, in: copy)
            }
        }
    }

    private enum Claim {
        /// All of the range is preserved.
        case nothing
        /// Others are copying the rest of the range.
        case elsewhere
        case piece(Range<UInt64>, of: any DiskFile, in: any DiskFile)
    }

    private func claim(_ range: Range<UInt64>) throws(DiskError) -> Claim {
        do throws(DiskError) {
            return try state.withLock { state throws(DiskError) in
                let gaps = state.end == nil ? state.preserved.gaps(in: range) : []
                if gaps.isEmpty { return .nothing }
                guard let free = state.firstFree(in: gaps) else { return .elsewhere }
                let copy = if let copy = state.copy { copy } else { try makeCopy() }
                state.copy = copy
                // Whole pieces are claimed, so that the rest of this one is free too.
                let start = free.lowerBound - free.lowerBound % pieceBytes
                let piece = start..<min(start + pieceBytes, size)
                state.copying.insert(piece)
                return .piece(piece, of: state.original, in: copy)
            }
        } catch {
            end(error)
            throw error
        }
    }

    private func makeCopy() throws(DiskError) -> any DiskFile {
        // An old file would show through where the original has holes.
        try disk.remove(copyPath)
        let copy = try disk.open(copyPath)
        try copy.truncate(to: size)
        return copy
    }

    private func preserve(
        _ piece: Range<UInt64>, of original: any DiskFile, in copy: any DiskFile
    ) throws(DiskError) {
        do throws(DiskError) {
            try disk.copy(piece, of: original, to: copy)
        } catch {
            end(error)
            throw error
        }
        state.withLock { state in
            state.copying.remove(piece)
            state.preserved.insert(piece)
        }
        changes.notify()
    }

    /// Whether it gave way to a change of the file before its upload ended.
    var isAbandoned: Bool { state.withLock { $0.end != nil } }

    /// Makes all further reads fail, and removes the copy. Only the first call has an effect.
    ///
    /// - Returns: The error, if the copy was not removed.
    @discardableResult
    func end(_ reason: DiskError) -> DiskError? {
        let hasCopy = state.withLock { state in
            guard state.end == nil else { return false }
            state.end = reason
            defer { state.copy = nil }
            return state.copy != nil
        }
        changes.notify()
        guard hasCopy else { return nil }
        do throws(DiskError) {
            try disk.remove(copyPath)
            return nil
        } catch {
            return error
        }
    }

    private func clamped(_ range: Range<UInt64>) -> Range<UInt64> {
        min(range.lowerBound, size)..<min(range.upperBound, size)
    }
}

extension FrozenContent {
    /// Reads and hashes all bytes. Between pieces, other tasks have a turn: a writer may wait for a copy.
    func digest() async throws -> ContentDigest {
        var hash = SHA256()
        var offset: UInt64 = 0
        while offset < size {
            try Task.checkCancellation()
            try hash.update(with: self, at: &offset)
            await Task.yield()
        }
        return ContentDigest(bytes: hash.finalize())
    }
}

extension SHA256 {
    private static let pieceBytes = 1 << 20

    /// Adds the next bytes of a file, and advances `offset` by their number.
    fileprivate mutating func update(with content: FrozenContent, at offset: inout UInt64) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Self.pieceBytes, alignment: 16)
        defer { buffer.deallocate() }
        // A read either fills the buffer, up to the end of the file, or throws.
        let count = try content.read(into: buffer, at: offset)
        update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        offset += UInt64(count)
    }
}
