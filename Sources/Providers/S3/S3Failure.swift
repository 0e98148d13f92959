import Engine
import ProviderSupport

/// Errors that several operations on a bucket throw.
enum S3Failure {
    /// The remedy for a name that the store cannot keep.
    static let renaming = "rename it, then it is sent"

    static var missing: ProviderError {
        ProviderError(.missing, "nothing has this name")
    }

    static var exists: ProviderError {
        ProviderError(.exists, "something has this name")
    }

    static var changed: ProviderError {
        ProviderError(.changed, "it is another version")
    }

    static var isDirectory: ProviderError {
        ProviderError(.wrongKind, "it is a directory")
    }

    static func unsupported(_ reason: String, remedy: String? = nil) -> ProviderError {
        ProviderError(.unsupported, reason, remedy: remedy)
    }

    /// A change of the object that holds a directory's own bytes.
    static var markerBytes: ProviderError {
        unsupported(
            "this name stands for the bytes in the directory's own object", remedy: renaming)
    }

    static func cancelled(cause: (any Error)? = nil) -> ProviderError {
        ProviderError(.cancelled, "cancelled", cause: cause)
    }

    static func checkCancelled() throws(ProviderError) {
        if Task.isCancelled { throw cancelled() }
    }

    /// Turns the refusal of a multipart upload that the store no longer has into a passing error:
    /// the next attempt starts a new upload.
    ///
    /// - Returns: nil for any other error.
    static func droppedUpload(_ error: ProviderError) -> ProviderError? {
        guard error.refusal?.code == "NoSuchUpload" else { return nil }
        return ProviderError(.busy, "the store has dropped the upload", cause: error)
    }
}
