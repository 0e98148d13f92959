import Digests
import Engine
import ProviderSupport
import SystemCalls
import Transport

/// The SHA-256 of bytes to be sent.
struct S3PayloadHash: Hashable, Sendable {
    let hexadecimal: String
    let base64: String

    fileprivate init(_ digest: [UInt8]) {
        hexadecimal = Hexadecimal.encode(digest)
        base64 = S3Checksum.text(digest)
    }
}

/// Computes the hash of sources, which may block to read, on threads of its own.
///
/// The hash is signed with the request, over TLS too. So the store itself refuses bytes that were
/// damaged on the way, and one method serves all stores. It costs a second read of long bodies, mostly
/// from memory.
struct S3Hasher: Sendable {
    private let pool: BlockingPool

    private static let pieceBytes = 1 << 20

    init() throws(SystemError) {
        pool = try BlockingPool(name: "apus-s3", threads: 4)
    }

    /// Returns a body and its hash, which is computed at once if the body is short.
    func body(
        _ source: any ByteSource, _ range: Range<UInt64>
    ) async throws(ProviderError) -> (HTTPBody, S3PayloadHash) {
        let body = try HTTPBody(reading: source, range)
        if case .bytes(let bytes) = body { return (body, S3PayloadHash(SHA256.hash(data: bytes))) }
        return (body, try await hash(source, range))
    }

    private func hash(
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
                hash.update(data: try source.bytes(in: start..<start + UInt64(count)))
                return hash
            }
            switch result {
            case nil: throw ProviderError(.cancelled, "cancelled")
            case .success(let after): hash = after
            case .failure(let error): throw error
            }
            offset += UInt64(count)
        }
        return S3PayloadHash(hash.finalize())
    }
}
