import Engine
import Testing

/// Values that tests of changes at a store share.
enum S3Sample {
    /// An object of another client.
    static let foreign = TinyS3.Object(etag: "foreign", bytes: [1, 2])
    static let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000), mode: 0o640)

    /// - Parameter name: A name in the root.
    static func key(_ name: String) throws -> ObjectKey {
        ObjectKey([try #require(FileName(name))])
    }
}
