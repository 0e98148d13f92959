import Engine

/// Decides when credentials are asked for, without clock, I/O or lock.
///
/// One asks at a time. Until credentials end, the others go on with them; after that they wait for who asks.
struct S3CredentialPlan {
    enum Step: Hashable {
        case use(S3Credentials)
        case fail(S3CredentialError)
        /// Ask, and call ``received(_:at:)`` or ``failed(_:at:)``.
        case ask
        /// Somebody asks: look again when that is over.
        case wait
    }

    /// How long before their end others are asked for.
    static let marginSeconds: Int64 = 300
    /// How long those who gave these are left alone: they often have no others until shortly
    /// before the end, and every request would ask.
    static let intervalSeconds: Int64 = 30
    /// The same after a failure, where there are none that last.
    static let failureSeconds: Int64 = 5

    private var credentials: S3Credentials?
    /// Of the last credentials that there were.
    private(set) var origin: S3CredentialOrigin?
    private var isAsking = false
    /// When the last answer came; nil where it no longer counts.
    private var answered: Timestamp?
    private var failure: S3CredentialError?

    mutating func step(at now: Timestamp) -> Step {
        let step = decide(at: now)
        guard step == .ask else { return step }
        if isAsking { return credentials.map { lasts($0, at: now) ? .use($0) : .wait } ?? .wait }
        isAsking = true
        return .ask
    }

    private func decide(at now: Timestamp) -> Step {
        guard let credentials else {
            if let failure, isRecent(Self.failureSeconds, now) { return .fail(failure) }
            return .ask
        }
        guard let expires = credentials.expires else { return .use(credentials) }
        if expires.seconds - now.seconds > Self.marginSeconds { return .use(credentials) }
        if lasts(credentials, at: now) || failure == nil {
            // What is given although it has ended counts until it is refused: AWS's machines do so while
            // their own servers are down.
            return isRecent(Self.intervalSeconds, now) ? .use(credentials) : .ask
        }
        if let failure, isRecent(Self.failureSeconds, now) { return .fail(failure) }
        return .ask
    }

    private func lasts(_ credentials: S3Credentials, at now: Timestamp) -> Bool {
        credentials.expires.map { $0 > now } ?? true
    }

    /// A clock that was set back makes nothing recent for long.
    private func isRecent(_ interval: Int64, _ now: Timestamp) -> Bool {
        answered.map { (0..<interval).contains(now.seconds - $0.seconds) } ?? false
    }

    mutating func received(_ credentials: S3Credentials, at now: Timestamp) {
        self = S3CredentialPlan()
        self.credentials = credentials
        origin = credentials.origin
        answered = now
    }

    /// - Parameter failure: nil where who asked was cancelled, which says nothing.
    mutating func failed(_ failure: S3CredentialError?, at now: Timestamp) {
        isAsking = false
        guard let failure else { return }
        self.failure = failure
        answered = now
    }

    /// Forgets credentials that the store refused, so that the next step asks for others.
    mutating func drop(_ refused: S3Credentials) {
        guard credentials == refused else { return }
        credentials = nil
        failure = nil
        answered = nil
    }
}
