import GRDB
import Synchronization

/// The connection that writes, used by one thread at a time.
final class WriterConnection: Sendable {
    let database: any DatabaseWriter
    /// Held by its user.
    private let turn = Mutex(())

    init(_ database: any DatabaseWriter) { self.database = database }

    /// Waits for the other users.
    func use<Value>(_ body: (Database) throws -> Value) throws -> Value {
        var value: Value?
        try turn.withLock { _ in value = try database.writeWithoutTransaction(body) }
        guard let value else { preconditionFailure("a use that did not fail has a result") }
        return value
    }

    /// Never waits: any use may take long, as even the smallest commit syncs the log if it is the
    /// first one after a checkpoint.
    ///
    /// - Returns: nil if it is in use.
    func useIfFree<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        var value: Value?
        let isFree: Void? = try turn.withLockIfAvailable { _ in
            value = try database.writeWithoutTransaction(body)
        }
        guard isFree != nil else { return nil }
        guard let value else { preconditionFailure("a use that did not fail has a result") }
        return value
    }
}
