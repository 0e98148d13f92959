/// Bytes as pairs of hexadecimal digits.
package enum Hexadecimal {
    /// Returns lowercase digits. Not generic: this is part of each signature, and a generic function of
    /// another module calls a function for each byte.
    package static func encode(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            var count = 0
            for byte in bytes {
                text[count] = digit(byte >> 4)
                text[count + 1] = digit(byte & 15)
                count += 2
            }
            return count
        }
    }

    /// - Parameter letter: The digit of ten.
    static func digit(_ value: UInt8, letter: UInt8 = UInt8(ascii: "a")) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : letter + value - 10
    }

    /// Returns 16 lowercase digits, the highest first.
    package static func encode(_ word: UInt64) -> String {
        encode(withUnsafeBytes(of: word.bigEndian) { Array($0) })
    }

    /// - Returns: nil unless the text consists of pairs of digits.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(value)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns 16 random digits, for names and marks that occur only once.
    package static func nonce() -> String { encode(UInt64.random(in: .min ... .max)) }

    /// Whether the bytes can be a ``nonce()``.
    package static func isNonce(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.count == 16 && bytes.allSatisfy("0123456789abcdef".utf8.contains)
    }

    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
