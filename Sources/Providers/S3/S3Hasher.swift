import Digests
import Engine
import SystemCalls

/// The SHA-256 of bytes to be sent.
struct S3PayloadHash: Hashable, Sendable {
    let hexadecimal: String
    let base64: String
}

/// Computes the hash of sources, which may block to read, on threads of its own.
///
/// The hash is signed with the request, over TLS too. So the store itself refuses bytes that were
/// damaged on the way, and one method serves all stores. It costs a second read, mostly from memory.
struct S3Hasher: Sendable {
    private let pool: BlockingPool

    private static let pieceBytes = 1 << 20

    init() throws(SystemError) {
        pool = try BlockingPool(name: "apus-s3", threads: 4)
    }

    func hash(
        _ source: any ByteSource, _ range: Range<UInt64>
    ) async throws(ProviderError) -> S3PayloadHash {
        var hash = SHA256()
        var offset = range.lowerBound
        while offset < range.upperBound {
            let start = offset
            let count = Int(min(UInt64(Self.pieceBytes), range.upperBound - start))
            let before = hash
            let result = await pool.run(onCancel: .finish) { () throws(ProviderError) in
                var hash = before
                try Self.update(&hash, source, at: start, count: count)
                return hash
            }
            switch result {
            case nil: throw ProviderError(.cancelled, "cancelled")
            case .success(let after): hash = after
            case .failure(let error): throw error
            }
            offset += UInt64(count)
        }
        let digest = hash.finalize()
        return S3PayloadHash(
            hexadecimal: Hexadecimal.encode(digest), base64: S3Checksum.text(digest))
    }

    private static func update(
        _ hash: inout SHA256, _ source: any ByteSource, at start: UInt64, count: Int
    ) throws(ProviderError) {
        var read = 0
        do {
            let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                while read < count {
                    let rest = UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(buffer)[read...])
                    let more = try source.read(into: rest, at: start + UInt64(read))
                    if more == 0 { break }
                    read += more
                }
                filled = read
            }
            hash.update(data: bytes)
        } catch {
            throw ProviderError(
                .source, "the bytes cannot be read: \(error)",
                cause: error)
        }
        guard read == count else {
            throw ProviderError(
                .source, "it ended at \(start + UInt64(read)) of \(source.size) bytes")
        }
    }
}
