import Digests
import Testing

/// Test vectors of FIPS 180-4, RFC 1321 and RFC 4231.
struct DigestsTests {
    private static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    @Test(arguments: [
        ("", none), ("abc", abc),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func `SHA-256 in one piece, and in pieces of any length`(text: String, expected: String) {
        let bytes = Array(text.utf8)
        #expect(hexadecimal(SHA256.hash(data: bytes)) == expected)
        var hash = SHA256()
        var rest = bytes[...]
        var count = 0
        while !rest.isEmpty {
            hash.update(data: Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
            count += 1
        }
        #expect(hexadecimal(hash.finalize()) == expected)
    }

    @Test func `a SHA-256 continues after its result was read, and its copies are independent`() {
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(hexadecimal(hash.finalize()) == Self.none)
        hash.update(data: Array("a".utf8))
        let copy = hash
        hash.update(data: Array("x".utf8))
        hash = copy
        hash.update(data: Array("bc".utf8))
        #expect(hexadecimal(hash.finalize()) == Self.abc)
    }

    @Test(arguments: [
        ("", "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        (
            "Jefe", "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "a", count: 131), "Test",
            "c026fdf4659e181a5dd33cef7c875f0beaba79aabfd5c0c0b326d961d11f3260"
        ),
    ])
    func `HMAC-SHA-256 with keys of any length`(key: String, text: String, expected: String) {
        let code = SHA256.authenticationCode(for: Array(text.utf8), key: Array(key.utf8))
        #expect(hexadecimal(code) == expected)
    }

    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ])
    func `MD5 of known texts`(text: String, expected: String) {
        #expect(hexadecimal(MD5.hash(data: Array(text.utf8))) == expected)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
