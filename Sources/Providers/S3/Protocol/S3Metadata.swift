import Engine
import Foundation
import ProviderSupport
import SystemCalls

/// The attributes of a file, in `x-amz-meta-*` headers that other tools also understand.
///
/// `mtime` is in seconds with a fraction, as rclone writes it and s3fs reads it; `mode` is octal
/// with the type bits and a leading zero, which both read correctly; `xattr` is as s3fs writes it,
/// see ``S3Attributes``. Entries of other programs (`uid`, `gid`, `md5chksum`) stay as they are.
struct S3Metadata: Hashable, Sendable {
    static let prefix = "x-amz-meta-"
    /// The target of a link, percent-encoded, so that a HEAD returns it. The body holds it as well,
    /// as with s3fs.
    static let targetName = "apus-target"
    /// The nonce of the upload that wrote the bytes, see ``WriteNonce``.
    private static let nonceName = "apus-write"
    /// User metadata may take 2 KiB in all.
    private static let bytesMax = 2_048
    private static let targetBytesMax = 1_200

    private static let typeBits: UInt32 = 0o170000
    private static let linkBits: UInt32 = 0o120000
    private static let directoryBits: UInt32 = 0o040000
    private static let fileBits: UInt32 = 0o100000

    /// Without the prefix, in lower case.
    private(set) var values: [String: String]

    init(_ values: [String: String] = [:]) {
        self.values = values
    }

    init(attributes: ObjectAttributes, kind: FileKind, target: [UInt8]? = nil) {
        values = [:]
        set(attributes, kind: kind)
        if let target {
            let text = PercentCoding.encode(target)
            if text.utf8.count <= Self.targetBytesMax { values[Self.targetName] = text }
        }
    }

    /// Sets the given attributes, and those that are missing.
    mutating func set(
        _ attributes: ObjectAttributes, only fields: AttributeFields = .all, kind: FileKind
    ) {
        if fields.contains(.modified) || values["mtime"] == nil { setModified(attributes.modified) }
        let type =
            switch kind {
            case .file: Self.fileBits
            case .directory: Self.directoryBits
            case .symlink: Self.linkBits
            }
        if fields.contains(.mode) || values["mode"] == nil {
            values["mode"] = "0" + String(type | UInt32(attributes.mode & 0o7777), radix: 8)
        }
        if kind != .symlink,
            fields.contains(.extendedAttributes) || values[S3Attributes.name] == nil
        {
            values[S3Attributes.name] = S3Attributes.text(
                attributes.extendedAttributes, replacing: values[S3Attributes.name])
        }
    }

    /// Sets or removes the nonce. There is none if others' entries leave no space for it: a lost answer is
    /// then verified without it, but a store would refuse all of them (`MetadataTooLarge`).
    mutating func setNonce(_ nonce: WriteNonce?) {
        values[Self.nonceName] = nonce?.description
        let bytes = headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        if bytes > Self.bytesMax { values[Self.nonceName] = nil }
    }

    mutating func setModified(_ time: Timestamp) {
        values["mtime"] = Self.text(time)
    }

    /// A digest of the metadata, in hexadecimal.
    var mark: String {
        let text = headers.map { "\($0.name):\($0.value)\n" }.joined()
        return String(S3Signer.hash(Array(text.utf8)).prefix(16))
    }

    /// The metadata for new bytes: everything except properties of the old ones.
    var ofNewBytes: S3Metadata {
        S3Metadata(
            values.filter {
                ![Self.targetName, Self.nonceName].contains($0.key) && !Self.isSum($0.key)
            })
    }

    private static let sums = ["md5", "sha1", "sha256", "sha512", "crc32", "checksum", "chksum"]

    /// Whether this is a checksum of the bytes: rclone's `md5chksum`, others' `sha256`.
    private static func isSum(_ name: String) -> Bool { sums.contains { name.contains($0) } }

    var headers: [(name: String, value: String)] {
        values.sorted { $0.key < $1.key }.map { (Self.prefix + $0.key, $0.value) }
    }

    // MARK: Directories

    static let directoryType = "application/x-directory"
    private static let kept = ["mode", "mtime", S3Attributes.name]

    /// The media type of a directory's marker. Its parameters repeat mode, time and extended
    /// attributes, since SeaweedFS keeps only the media type of such an object.
    var directoryContentType: String {
        let parameters = Self.kept.compactMap { name in
            values[name].map { "; \(name)=\($0)" }
        }
        return Self.directoryType + parameters.joined()
    }

    /// Fills in values that only the media type has.
    mutating func add(contentType: String) {
        let parts = contentType.split(separator: ";").map { part in
            String(part.drop { $0 == " " })
        }
        guard parts.first == Self.directoryType else { return }
        for part in parts.dropFirst() {
            let name = String(part.prefix { $0 != "=" })
            if Self.kept.contains(name), values[name] == nil {
                values[name] = String(part.dropFirst(name.count + 1))
            }
        }
    }

    // MARK: Reading

    var modified: Timestamp? { values["mtime"].flatMap(Self.timestamp) }

    var mode: UInt16? { bits.map { UInt16($0 & 0o7777) } }

    var extendedAttributes: ExtendedAttributes {
        values[S3Attributes.name].map(S3Attributes.parse) ?? ExtendedAttributes()
    }

    var nonce: WriteNonce? {
        values[Self.nonceName].flatMap { Hexadecimal.isNonce($0.utf8) ? WriteNonce($0) : nil }
    }

    var isSymlink: Bool { bits.map { $0 & Self.typeBits == Self.linkBits } ?? false }

    var target: [UInt8]? {
        guard let bytes = values[Self.targetName].flatMap({ PercentCoding.decode($0) }),
            (1...4095).contains(bytes.count), !bytes.contains(0)
        else { return nil }
        return bytes
    }

    /// The mode with its type: octal with a leading zero; otherwise decimal, as s3fs and earlier
    /// versions write it, or octal, as `rclone --metadata` does, whichever is a valid mode.
    private var bits: UInt32? {
        guard let text = values["mode"] else { return nil }
        if text.hasPrefix("0"), let octal = UInt32(text, radix: 8) { return octal }
        let decimal = UInt32(text)
        if let decimal, Self.isMode(decimal) { return decimal }
        if let octal = UInt32(text, radix: 8), Self.isMode(octal) { return octal }
        return decimal
    }

    private static func isMode(_ bits: UInt32) -> Bool {
        [fileBits, directoryBits, linkBits].contains(bits & ~0o7777)
    }

    private static func text(_ time: Timestamp) -> String {
        let isNegative = time.nanoseconds < 0
        let magnitude = time.nanoseconds.magnitude
        let fraction = String(1_000_000_000 + magnitude % 1_000_000_000).dropFirst()
        return "\(isNegative ? "-" : "")\(magnitude / 1_000_000_000).\(fraction)"
    }

    /// Parses seconds with or without a fraction, exactly to the nanosecond.
    private static func timestamp(_ text: String) -> Timestamp? {
        let isNegative = text.hasPrefix("-")
        let parts = (isNegative ? text.dropFirst() : text[...])
            .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, !whole.isEmpty, whole.utf8.allSatisfy(Timestamp.isDigit),
            let seconds = Int64(whole)
        else { return nil }
        var nanoseconds: Int64 = 0
        if parts.count == 2 {
            guard parts[1].utf8.allSatisfy(Timestamp.isDigit) else { return nil }
            nanoseconds = Timestamp.nanoseconds(fraction: parts[1].utf8)
        }
        let sign: Int64 = isNegative ? -1 : 1
        return Timestamp(seconds: sign * seconds, nanoseconds: sign * nanoseconds)
    }
}
