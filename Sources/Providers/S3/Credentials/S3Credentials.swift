import Engine

/// Who asks. It shows nothing of itself in logs and messages.
struct S3Credentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    let accessKey: String
    let secretKey: String
    /// For credentials that last for a while only.
    var sessionToken: String?
    /// When they end; nil where they do not say.
    var expires: Timestamp?

    var description: String { "credentials" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Why there are no credentials: for the user, without anything secret.
struct S3CredentialError: Error, Hashable {
    let reason: String
}
