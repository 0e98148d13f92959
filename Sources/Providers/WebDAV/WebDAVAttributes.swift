import Engine
import ProviderSupport
import SystemCalls

/// The attributes that WebDAV has no property for, in one dead property of our own.
///
/// `<attributes xmlns="urn:apus:webdav">mode=644 modified=1600000000.000000000 of=%225-64%22
/// version=0123456789abcdef</…>`
///
/// Fields are separated by blanks; unknown ones are ignored. Servers keep dead properties when another
/// client replaces the content, so `of` names the version that they were set for: `modified` and `target`,
/// which makes a file a symbolic link, apply to that version only. A directory has no `of`; its time is
/// the one that was set. `version` is a nonce that no other version has and that a move keeps: if entity
/// tags are made from time and length, `of` may fit several versions. Each extended attribute is a field
/// `xattr=NAME:VALUE`, both percent-encoded; like the mode, they apply to any version under the name.
struct WebDAVAttributes: Hashable {
    static let space = "urn:apus:webdav"
    static let name = "attributes"

    /// The permission bits, in octal digits.
    var mode: UInt16?
    var modified: Timestamp?
    /// The version that they were set for, see ``WebDAVVersion/opaqueTag``.
    var etag: String?
    /// 16 hexadecimal digits that no other version has.
    var nonce: String?
    /// The target of a symbolic link.
    var target: [UInt8]?
    var extendedAttributes = ExtendedAttributes()

    /// Half of the 8 KB that Apache keeps for a file.
    static let room = ExtendedAttributeSpace(bytesMax: 4_096) {
        fields($0).reduce(0) { $0 + $1.utf8.count + 1 }
    }

    init(
        _ attributes: ObjectAttributes, etag: String?, nonce: String? = nil, target: [UInt8]? = nil
    ) {
        mode = attributes.mode & 0o7777
        modified = attributes.modified
        self.etag = etag
        self.nonce = nonce
        self.target = target
        if target == nil { extendedAttributes = attributes.extendedAttributes }
    }

    /// Parses the fields; invalid ones count as not set.
    init(parsing text: String) {
        for field in text.split(separator: " ") {
            let name = field.prefix { $0 != "=" }
            let value = field.dropFirst(name.count + 1)
            switch name {
            case "mode": mode = UInt16(value, radix: 8).flatMap { $0 <= 0o7777 ? $0 : nil }
            case "modified": modified = Self.timestamp(value)
            case "of":
                etag = PercentCoding.decode(value).map { String(decoding: $0, as: UTF8.self) }
            case "version": nonce = Hexadecimal.isNonce(value.utf8) ? String(value) : nil
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

    /// The fields as text that needs no escaping in XML.
    var text: String {
        var fields: [String] = []
        if let mode { fields.append("mode=" + String(mode, radix: 8)) }
        if let modified {
            fields.append("modified=\(modified.seconds).\(modified.fractionDigits)")
        }
        if let etag { fields.append("of=" + PercentCoding.encode(etag.utf8)) }
        if let nonce { fields.append("version=" + nonce) }
        if let target { fields.append("target=" + PercentCoding.encode(target)) }
        fields += Self.fields(extendedAttributes)
        return fields.joined(separator: " ")
    }

    private static func fields(_ attributes: ExtendedAttributes) -> [String] {
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
