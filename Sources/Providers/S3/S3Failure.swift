import Engine
import ProviderSupport

/// Errors that several operations on a bucket throw.
enum S3Failure {
    /// The remedy for a name that the store cannot keep.
    static let renaming = "rename it, then it is sent"

    static func missing(_ attempt: String) -> ProviderError {
        ProviderError(.missing, attempt: attempt, reason: "nothing has this name")
    }

    static func exists(_ attempt: String) -> ProviderError {
        ProviderError(.exists, attempt: attempt, reason: "something has this name")
    }

    static func changed(_ attempt: String) -> ProviderError {
        ProviderError(.changed, attempt: attempt, reason: "it is another version")
    }

    static func isDirectory(_ attempt: String) -> ProviderError {
        ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
    }

    static func unsupported(
        _ reason: String, remedy: String? = nil, _ attempt: String
    ) -> ProviderError {
        ProviderError(.unsupported, attempt: attempt, reason: reason, remedy: remedy)
    }

    /// A change of the object that holds a directory's own bytes.
    static func markerBytes(_ attempt: String) -> ProviderError {
        unsupported(
            "this name stands for the bytes in the directory's own object", remedy: renaming,
            attempt)
    }

    static func cancelled(_ attempt: String, cause: (any Error)? = nil) -> ProviderError {
        ProviderError(.cancelled, attempt: attempt, reason: "cancelled", cause: cause)
    }

    static func checkCancelled(_ attempt: String) throws(ProviderError) {
        if Task.isCancelled { throw cancelled(attempt) }
    }

    /// Turns the refusal of a multipart upload that the store no longer has into a passing error:
    /// the next attempt starts a new upload.
    ///
    /// - Returns: nil for any other error.
    static func droppedUpload(_ error: ProviderError, _ attempt: String) -> ProviderError? {
        guard error.refusal?.code == "NoSuchUpload" else { return nil }
        return ProviderError(
            .busy, attempt: attempt, reason: "the store has dropped the upload", cause: error)
    }
}
