import Engine
import ProviderSupport

/// Translates rclone's messages into errors: it has few codes.
enum RcloneFailure {
    /// The number of characters of a message that are repeated.
    static let wordsMax = 500

    private static let meanings: [(words: [String], kind: ProviderError.Kind)] = [
        (
            [
                "object not found", "directory not found", "no such file", "file not found",
                "couldn't find object", "status 404",
            ], .missing
        ),
        (["directory not empty", "directory is not empty", "bucket not empty"], .notEmpty),
        (
            ["is a directory not a file", "is a file not a directory", "not a directory"],
            .wrongKind
        ),
        (
            [
                "no space left", "quota exceeded", "storagequota", "insufficient storage",
                "not enough space", "over quota", "storage limit",
            ], .full
        ),
        (
            [
                "too many requests", "rate limit", "ratelimit", "slow down", "slowdown",
                "service unavailable", "error 429", "status 429", "code 429", "quota for",
            ], .busy
        ),
        (
            [
                "unauthorized", "unauthenticated", "invalid_grant", "token expired",
                "expired token", "couldn't fetch token", "invalid access key",
                "invalidaccesskeyid", "signaturedoesnotmatch",
            ], .unauthorized
        ),
        (
            [
                "permission denied", "access denied", "accessdenied", "forbidden",
                "read only", "read-only", "operation not permitted",
            ], .denied
        ),
        (
            [
                "file name too long", "name too long", "invalid argument", "can't upload",
                "doesn't support", "not supported", "invalid utf-8", "invalid file name",
            ], .unsupported
        ),
    ]

    /// - Parameter names: Names that the message may contain and that are ignored in its
    ///   interpretation: a file may be called `quota exceeded`.
    static func error(reason: String, names: [String] = []) -> ProviderError {
        let text = names.filter { !$0.isEmpty }.sorted { $0.utf8.count > $1.utf8.count }
            .reduce(reason) { $0.replacing($1, with: "") }.lowercased()
        let kind = meanings.first { $0.words.contains(where: text.contains) }?.kind
        return ProviderError(
            kind ?? .unreachable, ForeignWords.line(reason, charactersMax: wordsMax))
    }
}
