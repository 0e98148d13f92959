/// Bytes as pairs of hexadecimal digits.
package enum Hexadecimal {
    /// Returns lowercase digits.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns 16 lowercase digits, the highest first.
    package static func encode(_ word: UInt64) -> String {
        withUnsafeBytes(of: word.bigEndian) { encode($0) }
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
