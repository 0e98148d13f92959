import Engine

/// Decides when credentials are loaded, without clock, I/O or lock.
///
/// One task loads at a time. Until the old credentials expire, the others use them; then they wait.
struct S3CredentialPlan {
    enum Step: Hashable {
        case use(S3Credentials)
        case fail(S3CredentialError)
        /// Load credentials, and call ``received(_:at:)`` or ``failed(_:at:)``.
        case ask
        /// Another task is loading: try again when it has ended.
        case wait
    }

    /// How long before they expire new ones are loaded.
    static let marginSeconds: Int64 = 300
    /// The minimum time between two loads: servers often have no new credentials until shortly
    /// before the old ones expire, and every request would ask.
    static let intervalSeconds: Int64 = 30
    /// The same after a failure, if no credentials are valid.
    static let failureSeconds: Int64 = 5

    private var credentials: S3Credentials?
    private(set) var origin: S3CredentialOrigin?
    private var isAsking = false
    /// When the last load ended; nil if it no longer counts.
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
            // Expired credentials are used until they are refused if the server gives no others: AWS's
            // machines do so while their own servers are down.
            return isRecent(Self.intervalSeconds, now) ? .use(credentials) : .ask
        }
        if let failure, isRecent(Self.failureSeconds, now) { return .fail(failure) }
        return .ask
    }

    private func lasts(_ credentials: S3Credentials, at now: Timestamp) -> Bool {
        credentials.expires.map { $0 > now } ?? true
    }

    /// A clock that was set back does not make a load seem recent for long.
    private func isRecent(_ interval: Int64, _ now: Timestamp) -> Bool {
        answered.map { (0..<interval).contains(now.seconds - $0.seconds) } ?? false
    }

    mutating func received(_ credentials: S3Credentials, at now: Timestamp) {
        self = S3CredentialPlan()
        self.credentials = credentials
        origin = credentials.origin
        answered = now
    }

    /// - Parameter failure: nil if the load was cancelled, which proves nothing.
    mutating func failed(_ failure: S3CredentialError?, at now: Timestamp) {
        isAsking = false
        guard let failure else { return }
        self.failure = failure
        answered = now
    }

    /// Forgets credentials that the store refused, so that the next step loads others.
    mutating func drop(_ refused: S3Credentials) {
        guard credentials == refused else { return }
        credentials = nil
        failure = nil
        answered = nil
    }
}
