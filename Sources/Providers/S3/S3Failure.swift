import Engine

/// Errors that several operations on a bucket throw.
enum S3Failure {
    /// The remedy for a name that the store cannot keep.
    static let renaming = "rename it, then it is sent"

    static let missing = ProviderError(.missing, "nothing has this name")
    static let exists = ProviderError(.exists, "something has this name")
    static let changed = ProviderError(.changed, "it is another version")
    static let isDirectory = ProviderError(.wrongKind, "it is a directory")

    static func unsupported(_ reason: String, remedy: String? = nil) -> ProviderError {
        ProviderError(.unsupported, reason, remedy: remedy)
    }

    /// A change of the object that holds a directory's own bytes.
    static let markerBytes = unsupported(
        "this name stands for the bytes in the directory's own object", remedy: renaming)

    /// Turns the refusal of a multipart upload that the store no longer has into a passing error:
    /// the next attempt starts a new upload.
    ///
    /// - Returns: nil for any other error.
    static func droppedUpload(_ error: ProviderError) -> ProviderError? {
        guard error.refusal?.code == "NoSuchUpload" else { return nil }
        return ProviderError(.busy, "the store has dropped the upload", cause: error)
    }
}
