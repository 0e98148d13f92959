import Engine

/// The key of an object in the bucket, as bytes, including the mount's prefix.
///
/// S3 has no directories: a key is one string, and `/` in it is only a convention.
struct S3Key: Hashable, Sendable {
    let bytes: [UInt8]

    /// The longest key that a store accepts.
    static let bytesMax = 1_024
    static let slash = UInt8(ascii: "/")

    /// Whether it is the key of an object that stands for a directory.
    var isMarker: Bool { bytes.last == Self.slash }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ text: String) {
        self.init(Array(text.utf8))
    }

    func appending(_ more: some Sequence<UInt8>) -> S3Key { S3Key(bytes + more) }

    /// Describes a part of it that no path of a file system may contain.
    var oddPart: String? {
        if bytes.contains(0) { return "a NUL" }
        let parts = bytes.split(separator: Self.slash)
        let dots = parts.first { $0.count <= 2 && $0.allSatisfy { $0 == UInt8(ascii: ".") } }
        return dots.map { "the part \"\(String(decoding: $0, as: UTF8.self))\"" }
    }

    var isText: Bool { String(validating: bytes, as: UTF8.self) != nil }
}

extension S3Key: CustomStringConvertible {
    var description: String { String(decoding: bytes, as: UTF8.self) }
}
