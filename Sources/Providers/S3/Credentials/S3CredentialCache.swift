import Engine
import Synchronization

/// Holds credentials until shortly before they expire.
final class S3CredentialCache: Sendable {
    private struct State {
        var credentials: S3Credentials?
        var isRefreshing = false
        /// Of the last credentials that there were.
        var origin: S3CredentialOrigin?
    }

    /// How long before their end credentials are asked for anew. While they last, one caller does
    /// that and the others go on with the old ones.
    static let margin: Duration = .seconds(300)

    private let load: @Sendable () async throws(S3CredentialError) -> S3Credentials
    private let state = Mutex(State())

    init(_ load: @escaping @Sendable () async throws(S3CredentialError) -> S3Credentials) {
        self.load = load
    }

    /// Where the last credentials came from; nil before the first.
    var origin: S3CredentialOrigin? { state.withLock(\.origin) }

    func credentials(at now: Timestamp) async throws(S3CredentialError) -> S3Credentials {
        let held = state.withLock { state -> S3Credentials? in
            guard let credentials = state.credentials else { return nil }
            guard let expires = credentials.expires else { return credentials }
            let rest = expires.seconds - now.seconds
            if rest > Self.margin.components.seconds { return credentials }
            if rest > 0 && state.isRefreshing { return credentials }
            state.isRefreshing = true
            return nil
        }
        if let held { return held }
        do {
            let credentials = try await load()
            state.withLock {
                $0 = State(credentials: credentials, origin: credentials.origin)
            }
            return credentials
        } catch {
            // What still lasts is better than nothing.
            let last = state.withLock { state in
                state.isRefreshing = false
                return state.credentials
            }
            if let last, let expires = last.expires, expires > now { return last }
            throw error
        }
    }

    /// Forgets credentials that the store refused, so that the next call asks for others.
    func drop(_ refused: S3Credentials) {
        state.withLock { state in
            if state.credentials == refused { state.credentials = nil }
        }
    }
}
