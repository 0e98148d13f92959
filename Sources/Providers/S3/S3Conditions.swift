import SystemCalls

/// The conditions that a store honours. The store itself decides on those; for the others Apus looks
/// before it acts, and a change by another client in between goes unnoticed.
struct S3Conditions: Hashable, Sendable {
    /// `If-None-Match: *` on PUT.
    var putIfAbsent = true
    /// `If-Match` on PUT.
    var putIfVersion = true
    /// `If-Match` on DELETE.
    var deleteIfVersion = true
    /// An `ETag` for each object in a batch deletion.
    var batchIfVersion = true
    /// `x-amz-copy-source-if-match`.
    var copyIfSource = true
    /// `If-None-Match: *` on a copy.
    var copyIfAbsent = true
    /// `If-Match` on a copy.
    var copyIfVersion = true
    /// Whether `\` is an ordinary character; SeaweedFS takes it for `/`.
    var keepsBackslash = true

    /// Leaves those that another test has found too.
    mutating func restrict(to other: S3Conditions) {
        putIfAbsent = putIfAbsent && other.putIfAbsent
        putIfVersion = putIfVersion && other.putIfVersion
        deleteIfVersion = deleteIfVersion && other.deleteIfVersion
        batchIfVersion = batchIfVersion && other.batchIfVersion
        copyIfSource = copyIfSource && other.copyIfSource
        copyIfAbsent = copyIfAbsent && other.copyIfAbsent
        copyIfVersion = copyIfVersion && other.copyIfVersion
        keepsBackslash = keepsBackslash && other.keepsBackslash
    }

    func onPut(_ condition: S3Condition) -> S3Condition? {
        switch condition {
        case .absent: putIfAbsent ? condition : nil
        case .version: putIfVersion ? condition : nil
        }
    }

    func onCopy(_ condition: S3Condition) -> S3Condition? {
        switch condition {
        case .absent: copyIfAbsent ? condition : nil
        case .version: copyIfVersion ? condition : nil
        }
    }
}

/// The names of the objects that test a store: `.apus-probe-` and 16 hexadecimal digits, then
/// anything. They are not listed, and nothing else may have such a name.
enum S3Probe {
    static let prefix = ".apus-probe-"

    static func newName() -> String { prefix + Hexadecimal.nonce() }

    /// - Parameter part: The rest of a key after its directory.
    static func isProbe(_ part: some Collection<UInt8>) -> Bool {
        part.starts(with: prefix.utf8)
            && Hexadecimal.isNonce(part.dropFirst(prefix.utf8.count).prefix(16))
    }
}
