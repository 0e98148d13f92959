import Synchronization
import Transport

/// The credentials for requests, which are read again after the server has refused them.
final class WebDAVLogin: Sendable {
    /// The credentials of one request.
    struct Pass: Sendable {
        let credentials: HTTPCredentials?
        /// Counts the credentials, so that a late refusal of the previous ones does not apply to these.
        fileprivate let number: Int
    }

    private enum Standing { case good, refused, renewing }

    private struct State {
        var pass: Pass
        var standing = Standing.good
    }

    private let renew: @Sendable () async -> HTTPCredentials?
    private let state: Mutex<State>

    /// - Parameter renew: Reads the credentials again, at most once after each refusal and never twice at
    ///   a time; nil to keep the old ones.
    init(_ credentials: HTTPCredentials?, renew: @escaping @Sendable () async -> HTTPCredentials?) {
        self.renew = renew
        state = Mutex(State(pass: Pass(credentials: credentials, number: 0)))
    }

    /// Returns the credentials for the next request. The first request after a refusal waits for new ones,
    /// which may take long if a command asks the user; the others use the old ones meanwhile.
    func pass() async -> Pass {
        let held = state.withLock { state -> Pass? in
            guard state.standing == .refused else { return state.pass }
            state.standing = .renewing
            return nil
        }
        if let held { return held }
        let renewed = await renew()
        return state.withLock { state in
            state.standing = .good
            if let renewed {
                state.pass = Pass(credentials: renewed, number: state.pass.number + 1)
            }
            return state.pass
        }
    }

    /// Records that the server has refused `pass`.
    func refuse(_ pass: Pass) {
        state.withLock { state in
            guard state.standing == .good, state.pass.number == pass.number else { return }
            state.standing = .refused
        }
    }
}
