import Synchronization
import Transport

/// What requests to a server prove themselves with, looked for anew once the server refuses it.
final class WebDAVLogin: Sendable {
    /// What one request goes out with.
    struct Pass: Sendable {
        let credentials: HTTPCredentials?
        /// Counts what there was, so that a late refusal of the last is not taken for one of this.
        fileprivate let number: Int
    }

    private enum Standing { case good, refused, renewing }

    private struct State {
        var pass: Pass
        var standing = Standing.good
    }

    private let renew: @Sendable () async -> HTTPCredentials?
    private let state: Mutex<State>

    /// - Parameter renew: Looks for the credentials where they came from, at most once after each
    ///   refusal and never twice at a time; nil to go on with the old ones.
    init(_ credentials: HTTPCredentials?, renew: @escaping @Sendable () async -> HTTPCredentials?) {
        self.renew = renew
        state = Mutex(State(pass: Pass(credentials: credentials, number: 0)))
    }

    /// For the next request. After a refusal the first one waits for what there is now; it may take
    /// long, as a command may ask its user, and the others go on with the old meanwhile.
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

    /// Notes that the server took `pass` for nothing.
    func refuse(_ pass: Pass) {
        state.withLock { state in
            guard state.standing == .good, state.pass.number == pass.number else { return }
            state.standing = .refused
        }
    }
}
