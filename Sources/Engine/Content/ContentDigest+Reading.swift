import Digests
import Synchronization

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

/// Digests bytes as they arrive in ascending order.
final class DigestingSink: ByteSink {
    private let hash = Mutex(SHA256())

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        hash.withLock { $0.update(bufferPointer: bytes) }
    }

    var digest: ContentDigest { ContentDigest(bytes: hash.withLock { $0.finalize() }) }
}
