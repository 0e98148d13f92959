package import Engine
import Synchronization

/// Adds up the bytes sent of all parts of an upload, so that the reported sum never falls.
package final class PartsProgress: Sendable {
    private struct State {
        var sum: UInt64
        var parts: [UInt64: UInt64] = [:]
    }

    private let session: any UploadSession
    private let least: UInt64
    private let state: Mutex<State>

    /// - Parameters:
    ///   - already: The bytes of earlier calls, except those of parts that will be noted.
    ///   - least: The bytes of earlier calls, including those, as far as known; no lower sum is reported.
    package init(_ session: any UploadSession, already: UInt64, atLeast least: UInt64 = 0) {
        self.session = session
        self.least = least
        state = Mutex(State(sum: already))
        session.noteSent(max(already, least))
    }

    package func note(part number: UInt64, _ bytes: UInt64) {
        // Reported under the lock, so that two parts cannot overtake each other.
        state.withLock { state in
            let former = state.parts[number] ?? 0
            guard bytes > former else { return }
            state.parts[number] = bytes
            state.sum += bytes - former
            session.noteSent(max(state.sum, least))
        }
    }
}
