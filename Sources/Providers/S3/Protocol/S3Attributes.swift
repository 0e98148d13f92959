import Engine
import Foundation
import SystemCalls

/// Extended attributes in the header that s3fs uses for them, `x-amz-meta-xattr`.
///
/// A JSON object of names and values in base64, percent-encoded: `{"user.a":"MQ=="}`. s3fs has no
/// escapes in names, and splits at commas; Apus writes `%2C` and the like there, before the whole is
/// encoded. Attributes outside of `user.`, such as access lists of s3fs, stay as they are.
enum S3Attributes {
    static let name = "xattr"
    /// User metadata may take 2 KiB in all, including mode, time and entries of other programs.
    static let space = ExtendedAttributeSpace(bytesMax: 1_800) {
        text($0, replacing: nil)?.utf8.count ?? 0
    }

    /// - Parameter former: The previous value of the header.
    /// - Returns: nil if there are no attributes.
    static func text(_ attributes: ExtendedAttributes, replacing former: String?) -> String? {
        let others = former.map(pairs)?.filter { !ExtendedAttributes.isKept($0.name) } ?? []
        let ours = attributes.names.map { (name: $0, value: attributes[$0] ?? []) }
        if others.isEmpty, ours.isEmpty { return nil }
        let pairs = (others + ours).map { pair in
            quoted(escaped(pair.name)) + [colon]
                + quoted(Array(Data(pair.value).base64EncodedData()))
        }
        return PercentCoding.encode([brace.open] + pairs.joined(separator: [comma]) + [brace.close])
    }

    static func parse(_ text: String) -> ExtendedAttributes {
        pairs(text).reduce(into: ExtendedAttributes()) { attributes, pair in
            if ExtendedAttributes.isKept(pair.name) { attributes[pair.name] = pair.value }
        }
    }

    /// Parses as s3fs does: invalid entries are left out.
    private static func pairs(_ text: String) -> [(name: [UInt8], value: [UInt8])] {
        guard let json = PercentCoding.decode(text), let first = json.firstIndex(of: brace.open),
            let last = json.lastIndex(of: brace.close), first < last
        else { return [] }
        return json[(first + 1)..<last].split(separator: comma).compactMap { pair in
            guard let middle = pair.lastIndex(of: colon), let name = unquoted(pair[..<middle]),
                let value = unquoted(pair[(middle + 1)...]),
                let bytes = Data(base64Encoded: Data(value))
            else { return nil }
            return (PercentCoding.decode(name) ?? Array(name), Array(bytes))
        }
    }

    // MARK: Parts

    private static let comma = UInt8(ascii: ",")
    private static let colon = UInt8(ascii: ":")
    private static let quote = UInt8(ascii: "\"")
    private static let brace = (open: UInt8(ascii: "{"), close: UInt8(ascii: "}"))

    /// Escapes the characters that would end a name.
    private static func escaped(_ name: [UInt8]) -> [UInt8] {
        let special = Array("%,\"{}".utf8)
        return name.flatMap { special.contains($0) ? Array(PercentCoding.encode([$0]).utf8) : [$0] }
    }

    private static func quoted(_ bytes: [UInt8]) -> [UInt8] { [quote] + bytes + [quote] }

    private static func unquoted(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let first = bytes.firstIndex(of: quote), let last = bytes.lastIndex(of: quote),
            first < last
        else { return nil }
        return bytes[(first + 1)..<last]
    }
}
