package import Engine
import Synchronization

/// Adds up the bytes sent of all parts of an upload, so that the reported sum never falls.
package final class PartsProgress: Sendable {
    private struct State {
        var sum: UInt64
        var parts: [UInt64: UInt64] = [:]
    }

    private let session: any UploadSession
    private let state: Mutex<State>

    /// - Parameter already: The bytes of earlier calls.
    package init(_ session: any UploadSession, already: UInt64) {
        self.session = session
        state = Mutex(State(sum: already))
        session.noteSent(already)
    }

    package func note(part number: UInt64, _ bytes: UInt64) {
        // Reported under the lock, so that two parts cannot overtake each other.
        state.withLock { state in
            let former = state.parts[number] ?? 0
            guard bytes > former else { return }
            state.parts[number] = bytes
            state.sum += bytes - former
            session.noteSent(state.sum)
        }
    }
}
