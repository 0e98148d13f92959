import GRDB

/// The connection that writes, used by one thread at a time.
final class WriterConnection: Sendable {
    let database: any DatabaseWriter
    private let lock = EventuallyFairLock()

    init(_ database: any DatabaseWriter) { self.database = database }

    /// Waits for the other users.
    func use<Value>(_ body: (Database) throws -> Value) throws -> Value {
        lock.lock()
        defer { lock.unlock() }
        return try database.writeWithoutTransaction(body)
    }

    /// Never waits: any use may take long, as even the smallest commit syncs the log if it is the
    /// first one after a checkpoint.
    ///
    /// - Returns: nil if it is in use.
    func useIfFree<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        guard lock.lockIfFree() else { return nil }
        defer { lock.unlock() }
        return try database.writeWithoutTransaction(body)
    }
}
