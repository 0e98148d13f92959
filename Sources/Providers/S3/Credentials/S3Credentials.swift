import Engine

/// Who asks. It shows nothing of itself in logs and messages.
struct S3Credentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    let accessKey: String
    let secretKey: String
    /// For credentials that last for a while only.
    var sessionToken: String?
    /// When they end; nil where they do not say.
    var expires: Timestamp?
    let origin: S3CredentialOrigin

    var description: String { "credentials" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Where credentials come from.
enum S3CredentialOrigin: Hashable, Sendable {
    case environment
    /// Keys that are written down there.
    case profile(String)
    /// `credential_process` of a profile.
    case process(profile: String)
    case webIdentity
    case container
    case machine

    /// What to do where a store takes these for nothing.
    var remedy: String {
        switch self {
        case .environment:
            "correct AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment"
        case .profile(let name):
            "correct the keys of the profile \"\(name)\" in the shared credentials file"
        case .process(let profile):
            "see in a terminal what credential_process of the profile \"\(profile)\" prints"
        case .webIdentity: "see what role the web identity has"
        case .container: "see what role the container has"
        case .machine: "see what role this machine has, or set AWS_ACCESS_KEY_ID"
        }
    }
}

/// Why there are no credentials: for the user, without anything secret.
struct S3CredentialError: Error, Hashable {
    enum Kind: Hashable {
        /// Somebody has to do something.
        case final
        /// Who gives them cannot be reached, or is in trouble itself.
        case passing
        /// Whoever asked has given up.
        case cancelled
    }

    let kind: Kind
    let reason: String
    /// What the user can do.
    let remedy: String

    init(_ reason: String, remedy: String, kind: Kind = .final) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }

    static let cancelled = S3CredentialError("cancelled", remedy: "try again", kind: .cancelled)
}
