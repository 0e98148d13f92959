import Engine

/// What WebDAV has no property for, in one dead property of our own.
///
/// `<attributes xmlns="urn:apus:webdav">mode=644 modified=1600000000.000000000 of=%225-64%22
/// version=0123456789abcdef</…>`
///
/// Words with blanks between them, unknown ones ignored. Servers keep dead properties when somebody
/// else replaces the content, so `of` names the version that they were set for: of another one the
/// time says nothing, and `target`, which makes a file a symbolic link, even less. A directory has
/// no `of`: its time is that which was set. `version` is a word that no other version has, and goes
/// with the file when that is moved: where tags are made of time and length, `of` alone may name
/// several. Each extended attribute is a word `xattr=NAME:VALUE`,
/// both percent-encoded; like the mode, they stay with whatever is under the name.
struct WebDAVAttributes: Hashable {
    static let space = "urn:apus:webdav"
    static let name = "attributes"

    /// The permission bits, in octal digits.
    var mode: UInt16?
    var modified: Timestamp?
    /// The stamp of the version, see ``WebDAVVersion/stamp``, percent-encoded.
    var stamp: String?
    /// What no other version has; hexadecimal digits.
    var word: String?
    /// Where a symbolic link points, percent-encoded.
    var target: [UInt8]?
    var extendedAttributes = ExtendedAttributes()

    /// Apache keeps 8 KB for a file in all, so that half of it is used.
    static let room = ExtendedAttributeSpace(bytesMax: 4_096) {
        words($0).reduce(0) { $0 + $1.utf8.count + 1 }
    }

    init(
        _ attributes: ObjectAttributes, stamp: String?, word: String? = nil, target: [UInt8]? = nil
    ) {
        mode = attributes.mode & 0o7777
        modified = attributes.modified
        self.stamp = stamp
        self.word = word
        self.target = target
        if target == nil { extendedAttributes = attributes.extendedAttributes }
    }

    /// Reads what can be read; what cannot, counts as not set.
    init(parsing text: String) {
        for word in text.split(separator: " ") {
            let name = word.prefix { $0 != "=" }
            let value = word.dropFirst(name.count + 1)
            switch name {
            case "mode": mode = UInt16(value, radix: 8).flatMap { $0 <= 0o7777 ? $0 : nil }
            case "modified": modified = Self.timestamp(value)
            case "of":
                stamp = PercentCoding.decode(value).map { String(decoding: $0, as: UTF8.self) }
            case "version": self.word = Self.isWord(value) ? String(value) : nil
            case "target":
                target = PercentCoding.decode(value).flatMap {
                    (1...4095).contains($0.count) && !$0.contains(0) ? $0 : nil
                }
            case "xattr":
                let parts = value.split(separator: ":", omittingEmptySubsequences: false)
                    .map { PercentCoding.decode($0) }
                if parts.count == 2, let name = parts[0], ExtendedAttributes.isKept(name) {
                    extendedAttributes[name] = parts[1]
                }
            default: continue
            }
        }
    }

    /// In characters that XML takes as they are.
    var text: String {
        var words: [String] = []
        if let mode { words.append("mode=" + String(mode, radix: 8)) }
        if let modified {
            let digits = String(modified.nanosecondsOfSecond)
            let padding = String(repeating: "0", count: 9 - digits.count)
            words.append("modified=\(modified.seconds).\(padding)\(digits)")
        }
        if let stamp { words.append("of=" + PercentCoding.encode(stamp.utf8)) }
        if let word { words.append("version=" + word) }
        if let target { words.append("target=" + PercentCoding.encode(target)) }
        words += Self.words(extendedAttributes)
        return words.joined(separator: " ")
    }

    static func newWord() -> String {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// It becomes part of a mark.
    static func isWord(_ text: Substring) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    }

    private static func words(_ attributes: ExtendedAttributes) -> [String] {
        attributes.names.map { name in
            "xattr=\(PercentCoding.encode(name)):\(PercentCoding.encode(attributes[name] ?? []))"
        }
    }

    private static func timestamp(_ text: Substring) -> Timestamp? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let seconds = Int64(parts[0]), parts[1].utf8.count == 9,
            let nanoseconds = Int64(parts[1]), nanoseconds >= 0
        else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}

/// `%41` for bytes that are no unreserved characters of RFC 3986.
enum PercentCoding {
    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            if isUnreserved(byte) {
                text.append(byte)
            } else {
                text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: nil where a `%` is not followed by two hexadecimal digits.
    static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit),
                let low = rest.popFirst().flatMap(digit)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
