/// Bytes as `%41`.
package enum PercentCoding {
    /// Encodes bytes, except the unreserved characters of RFC 3986.
    package static func encode(
        _ bytes: some Sequence<UInt8>, keepsSlash: Bool = false
    ) -> String {
        encode(Array(bytes)) { isUnreserved($0) || keepsSlash && $0 == UInt8(ascii: "/") }
    }

    package static func encode(_ text: String) -> String { encode(text.utf8) }

    package static func encode(_ bytes: [UInt8], except isKept: (UInt8) -> Bool) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for byte in bytes {
            if isKept(byte) {
                text.append(byte)
            } else {
                text.append(UInt8(ascii: "%"))
                text.append(Hexadecimal.digit(byte >> 4, letter: UInt8(ascii: "A")))
                text.append(Hexadecimal.digit(byte & 0xF, letter: UInt8(ascii: "A")))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Parameter plusIsBlank: Whether `+` stands for a blank, as in forms and in S3's listings.
    /// - Returns: nil if a `%` is not followed by two hexadecimal digits.
    package static func decode(
        _ text: some StringProtocol, plusIsBlank: Bool = false
    ) -> [UInt8]? {
        decode(Array(text.utf8)[...], plusIsBlank: plusIsBlank)
    }

    package static func decode(_ text: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? 0x20 : byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(Hexadecimal.value),
                let low = rest.popFirst().flatMap(Hexadecimal.value)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
