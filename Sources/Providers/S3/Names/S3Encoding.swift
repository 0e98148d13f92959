/// Percent-encoding as S3 requires it: everything except letters, digits and `-._~`.
enum S3Encoding {
    static func encode(_ bytes: some Sequence<UInt8>, keepsSlash: Bool = false) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if isUnreserved(byte) || (keepsSlash && byte == S3Key.slash) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    static func encode(_ text: String) -> String { encode(text.utf8) }

    /// - Parameter plusIsBlank: Whether `+` stands for a blank, as in forms and in S3's listings.
    /// - Returns: nil if a percent sign is not followed by two hexadecimal digits.
    static func decode(_ text: String, plusIsBlank: Bool = false) -> [UInt8]? {
        decode(Array(text.utf8)[...], plusIsBlank: plusIsBlank)
    }

    static func decode(_ text: ArraySlice<UInt8>, plusIsBlank: Bool = false) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%") {
                guard rest.count >= 2, let high = value(rest.removeFirst()),
                    let low = value(rest.removeFirst())
                else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return bytes
    }

    static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes { text += [lowerDigit(byte >> 4), lowerDigit(byte & 15)] }
        return String(decoding: text, as: UTF8.self)
    }

    static func bytes(hexadecimal text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap(value)
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }

    private static func lowerDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
