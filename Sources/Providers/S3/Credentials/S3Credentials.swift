import Engine

/// The keys that requests are signed with. Logs and messages never show them.
struct S3Credentials: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    let accessKey: String
    let secretKey: String
    /// Of temporary credentials.
    var sessionToken: String?
    /// When they expire; nil if unknown.
    var expires: Timestamp?
    let origin: S3CredentialOrigin

    var description: String { "credentials" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

enum S3CredentialOrigin: Hashable, Sendable {
    case environment
    /// Keys in the shared files.
    case profile(String)
    /// `credential_process` of a profile.
    case process(profile: String)
    case webIdentity
    case container
    case machine

    /// The remedy if a store refuses these credentials.
    var remedy: String {
        switch self {
        case .environment:
            "correct AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment"
        case .profile(let name):
            "correct the keys of the profile \"\(name)\" in the shared credentials file"
        case .process(let profile):
            "run credential_process of the profile \"\(profile)\" in a terminal and check its output"
        case .webIdentity: "check the role of the web identity"
        case .container: "check the role of the container"
        case .machine: "check the role of this machine, or set AWS_ACCESS_KEY_ID"
        }
    }
}

/// Tells the user why there are no credentials, without anything secret.
struct S3CredentialError: Error, Hashable {
    enum Kind: Hashable {
        /// The user has to act.
        case final
        /// The server cannot be reached, or is in trouble itself.
        case passing
        case cancelled
    }

    let kind: Kind
    let reason: String
    /// For the user.
    let remedy: String

    init(_ reason: String, remedy: String, kind: Kind = .final) {
        self.kind = kind
        self.reason = reason
        self.remedy = remedy
    }

    static let cancelled = S3CredentialError("cancelled", remedy: "try again", kind: .cancelled)
}
