import Crypto
import Synchronization

/// The SHA-256 of a file's bytes. It tells whether the bytes that a store holds are those that were
/// sent, when those that are here have changed since.
struct ContentDigest: Hashable {
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(of source: FrozenContent) throws {
        var hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        // It fills the buffer, or throws.
        while offset < source.size {
            let count = try source.read(into: buffer, at: offset)
            hash.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += UInt64(count)
        }
        bytes = Array(hash.finalize())
    }
}

/// Digests what arrives, in ascending order.
final class DigestingSink: ByteSink {
    private let hash = Mutex(SHA256())

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        hash.withLock { $0.update(bufferPointer: bytes) }
    }

    var digest: ContentDigest { ContentDigest(bytes: hash.withLock { Array($0.finalize()) }) }
}
