import Synchronization

/// The last outputs of commands that print secrets, for a source that is opened again and again while its store is
/// out of reach: such a command may ask a person each time.
package final class SecretMemory: Sendable {
    private let outputs = Mutex<[Secret: [UInt8]]>([:])

    package init() {}

    func output(of line: Secret) -> [UInt8]? { outputs.withLock { $0[line] } }

    func keep(_ output: [UInt8], of line: Secret) {
        outputs.withLock { $0[line] = output }
    }

    /// Forgets all of them, as the store refuses one.
    package func forget() { outputs.withLock { $0 = [:] } }
}
