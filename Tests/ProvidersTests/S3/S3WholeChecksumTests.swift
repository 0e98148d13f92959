import Digests
import Engine
import SystemCalls
import Testing
import Transport

@testable import ProviderS3

/// The checksum of a whole object, which is compared with all its bytes.
@Suite struct S3WholeChecksumTests {
    private static let bytes = Array("the bytes".utf8)
    private static let md5 = ETag(Hexadecimal.encode(MD5.hash(data: bytes)))

    private func isMatch(
        _ bytes: [UInt8], _ etag: ETag, headers: [(name: String, value: String)] = []
    ) -> (isMatch: Bool, isDeclared: Bool)? {
        guard let kept = S3Checksum.whole(of: HTTPHeaders(headers), etag: etag) else { return nil }
        var sum = S3KeptChecksum(sum: kept.sum, kept: kept.expected)
        for byte in bytes { withUnsafeBytes(of: byte) { sum.update($0) } }
        return (sum.value == sum.expected, sum.isDeclared)
    }

    @Test func `an ETag may be an MD5, which the store does not say`() throws {
        #expect(try #require(isMatch(Self.bytes, Self.md5)) == (true, false))
        #expect(try #require(isMatch([1, 2], Self.md5)) == (false, false))
    }

    @Test func `an ETag of parts or of an object with a key of its own is no checksum`() {
        #expect(isMatch(Self.bytes, ETag("\(Self.md5)-2")) == nil)
        for (name, value) in [
            ("x-amz-server-side-encryption", "aws:kms"),
            ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
        ] {
            #expect(isMatch(Self.bytes, Self.md5, headers: [(name, value)]) == nil)
        }
    }

    @Test func `a checksum that the store declares goes before the ETag`() throws {
        let text = S3Checksum.text(SHA256.hash(data: Self.bytes))
        let headers = [(name: "x-amz-checksum-sha256", value: text)]
        #expect(try #require(isMatch(Self.bytes, Self.md5, headers: headers)) == (true, true))
        #expect(try #require(isMatch([1], Self.md5, headers: headers)) == (false, true))
    }
}
