import Foundation
import GRDB

/// The connection that writes, used by one thread at a time.
final class WriterConnection: Sendable {
    let database: any DatabaseWriter
    /// Held by its user. Not a `Mutex`: on Linux, its `unlock` passes it to a thread that sleeps, so that
    /// each of many short uses waits for a thread to wake.
    private let turn = NSLock()

    init(_ database: any DatabaseWriter) { self.database = database }

    /// Waits for the other users.
    func use<Value>(_ body: (Database) throws -> Value) throws -> Value {
        turn.lock()
        defer { turn.unlock() }
        return try database.writeWithoutTransaction(body)
    }

    /// Never waits: any use may take long, as even the smallest commit syncs the log if it is the
    /// first one after a checkpoint.
    ///
    /// - Returns: nil if it is in use.
    func useIfFree<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        guard turn.try() else { return nil }
        defer { turn.unlock() }
        return try database.writeWithoutTransaction(body)
    }
}
