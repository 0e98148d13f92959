import Engine

/// The key of an object, as bytes: what the bucket calls it, with the mount's prefix.
///
/// S3 knows no directories: a key is one string, and `/` in it a habit.
struct S3Key: Hashable, Sendable {
    let bytes: [UInt8]

    /// What a store accepts at most.
    static let bytesMax = 1_024
    static let slash = UInt8(ascii: "/")

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    init(_ text: String) {
        self.init(Array(text.utf8))
    }

    func appending(_ more: some Sequence<UInt8>) -> S3Key { S3Key(bytes + more) }

    var isText: Bool { String(validating: bytes, as: UTF8.self) != nil }
}

extension S3Key: CustomStringConvertible {
    var description: String { String(decoding: bytes, as: UTF8.self) }
}
