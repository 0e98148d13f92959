import Engine
import ProviderSupport
import SystemCalls

/// A page of ListObjectsV2.
struct S3Listing: Hashable, Sendable {
    struct Object: Hashable, Sendable {
        let key: S3Key
        let etag: ETag
        let size: UInt64
        let modified: Timestamp

        /// Whether it stands for a directory.
        var isMarker: Bool { size == 0 && key.bytes.last == S3Key.slash }
    }

    var objects: [Object] = []
    /// CommonPrefixes: keys up to and including the delimiter.
    var prefixes: [S3Key] = []
    /// The token of the next page; nil after the last one.
    var next: String?

    init() {}

    init(_ root: S3Element) throws(XMLError) {
        guard root.name == "ListBucketResult" else {
            throw XMLError("it is not a listing but <\(root.name.prefix(40))>")
        }
        let isEncoded = root.text("EncodingType") == "url"
        for element in root.all("Contents") {
            objects.append(try Self.object(element, isEncoded: isEncoded))
        }
        for element in root.all("CommonPrefixes") {
            prefixes.append(try Self.key(element.text("Prefix"), isEncoded: isEncoded))
        }
        guard root.text("IsTruncated") == "true" else { return }
        guard let token = root.text("NextContinuationToken"), !token.isEmpty else {
            throw XMLError("it is truncated and has no continuation token")
        }
        next = token
    }

    private static func object(
        _ element: S3Element, isEncoded: Bool
    ) throws(XMLError) -> Object {
        guard let size = element.text("Size").flatMap({ UInt64($0) }), size <= UInt64(Int64.max)
        else { throw XMLError("an object in it has no size") }
        return Object(
            key: try key(element.text("Key"), isEncoded: isEncoded),
            etag: S3ETag.etag(element.text("ETag") ?? ""), size: size,
            modified: element.text("LastModified").flatMap { Timestamp(rfc3339: $0) }
                ?? Timestamp(nanoseconds: 0))
    }

    private static func key(
        _ text: String?, isEncoded: Bool
    ) throws(XMLError) -> S3Key {
        guard let text,
            let bytes = isEncoded
                ? PercentCoding.decode(text, plusIsBlank: true) : Array(text.utf8)
        else { throw XMLError("a key in it cannot be read") }
        return S3Key(bytes)
    }
}

/// Converts ETags, which come with and without quotes.
enum S3ETag {
    static func etag(_ text: String) -> ETag {
        var text = text[...]
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") {
            text = text.dropFirst().dropLast()
        }
        return ETag(String(text))
    }

    /// The form in a header.
    static func header(_ etag: ETag) -> String { "\"\(etag)\"" }

    /// Whether it is that of an object in parts, so that a copy may have another one.
    static func isOfParts(_ etag: ETag) -> Bool { etag.description.contains("-") }
}
