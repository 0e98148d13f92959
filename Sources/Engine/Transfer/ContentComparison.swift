import Digests
import Synchronization

/// Compares remote versions with local content.
struct ContentComparison: Sendable {
    let content: ContentStore
    let gate: RemoteGate

    /// Compares a version on the remote with the local one, up to the first piece that differs.
    ///
    /// - Returns: Whether they are identical; false if the local one is incomplete.
    func hasContent(
        of inode: InodeNumber, _ object: RemoteObject, at place: ObjectKey
    ) async throws -> Bool {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        let (size, isWhole) = file.state.withLock { ($0.size, $0.isWhole) }
        guard size == object.size, isWhole, let etag = object.etag else { return false }
        var offset: UInt64 = 0
        while offset < size {
            let piece = offset..<min(size, offset + 4 << 20)
            let sink = ComparingSink(file: file)
            try await gate.read(place, range: piece, etag: etag, into: sink)
            if sink.isDifferent { return false }
            offset = piece.upperBound
        }
        return true
    }
}

/// Compares arriving bytes with local ones, to the end: a damaged reply is only recognised there,
/// and proves nothing.
private final class ComparingSink: ByteSink {
    private let file: OpenFile
    private let state = Mutex(false)

    init(file: OpenFile) { self.file = file }

    var isDifferent: Bool { state.withLock(\.self) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        let content = file.state.withLock(\.file)
        try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { ours in
            let count = try content.read(into: ours, at: offset)
            if count != bytes.count || !ours.elementsEqual(bytes) { state.withLock { $0 = true } }
        }
    }
}

/// Digests bytes as they arrive in ascending order.
final class DigestingSink: ByteSink {
    private let hash = Mutex(SHA256())

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        hash.withLock { $0.update(bufferPointer: bytes) }
    }

    var digest: ContentDigest { ContentDigest(bytes: hash.withLock { $0.finalize() }) }
}
