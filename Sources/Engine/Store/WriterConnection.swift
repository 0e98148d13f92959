import GRDB
import Synchronization

/// The connection that writes, used by one thread at a time.
final class WriterConnection: Sendable {
    let database: any DatabaseWriter
    /// Held by its user.
    private let turn = Mutex(())
    /// The threads that use it or wait for it, and those among them whose use may take long.
    private let users = Atomic<Int>(0)
    private let longUsers = Atomic<Int>(0)

    init(_ database: any DatabaseWriter) { self.database = database }

    /// Waits for the other users.
    ///
    /// - Parameter isBrief: Whether it takes less than a millisecond.
    func use<Value>(
        isBrief: Bool = false, _ body: (Database) throws -> Value
    ) throws -> Value {
        users.add(1, ordering: .relaxed)
        if isBrief { return try useInTurn(body) }
        longUsers.add(1, ordering: .relaxed)
        defer { longUsers.subtract(1, ordering: .relaxed) }
        return try useInTurn(body)
    }

    /// Uses it briefly, after one other brief use at most.
    ///
    /// - Returns: nil if it would take longer.
    func useSoon<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        var others = users.load(ordering: .relaxed)
        while true {
            guard others <= 1, longUsers.load(ordering: .relaxed) == 0 else { return nil }
            let (isFree, current) = users.compareExchange(
                expected: others, desired: others + 1, ordering: .relaxed)
            if isFree { return try useInTurn(body) }
            others = current
        }
    }

    private func useInTurn<Value>(_ body: (Database) throws -> Value) throws -> Value {
        defer { users.subtract(1, ordering: .relaxed) }
        var value: Value?
        try turn.withLock { _ in value = try database.writeWithoutTransaction(body) }
        guard let value else { preconditionFailure("a use that did not fail has a result") }
        return value
    }
}
