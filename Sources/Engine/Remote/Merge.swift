import GRDB
import Logging

/// Applies remote changes to the local tree, inside the caller's transaction.
///
/// ``Merger`` makes one for each transaction, and carries out ``changes`` after the commit.
struct Merge {
    /// The parts that a merge needs besides its transaction.
    struct Context: Sendable {
        let configuration: EngineConfiguration
        let clock: any Clock
        let logger: Logger
        let gate: any Provider
        let deletions: DeletionHold
        let conflictNames: ConflictNames
        /// Maximum size of a file kept in the trash.
        let trashBytesMax: UInt64
    }

    let database: Database
    let context: Context
    var changes: RemoteChanges

    init(_ database: Database, _ context: Context) {
        self.database = database
        self.context = context
        changes = RemoteChanges(removalsLeft: context.configuration.removalsMax)
    }

    var configuration: EngineConfiguration { context.configuration }
    var clock: any Clock { context.clock }
    var logger: Logger { context.logger }
    var gate: any Provider { context.gate }
}

extension Merge.Context {
    /// Stores the write time up to which an object's metadata is known: a listing with a later time
    /// shows a change. Observations stored in `remote` lack that time; the next listing then counts
    /// as later.
    func setWritten(
        _ object: RemoteObject, of inode: InodeNumber, in database: Database
    ) throws {
        guard !gate.traits.listsMetadata, object.kind == .file else { return }
        let isLookedAt = object.hasMetadata && object.written == nil
        try database.setWritten(
            isLookedAt ? Timestamp(nanoseconds: 0) : object.written, of: inode)
    }

}

/// Runs merges: one transaction each, and its consequences after the commit.
struct Merger: Sendable {
    let store: Store
    let context: Merge.Context
    let aftermath: Aftermath

    /// Runs `body` as one transaction, then carries out its consequences.
    ///
    /// - Parameters:
    ///   - planned: The inode whose plan this carries out. It is planned again, or backs off after
    ///     a failure, by itself; scheduling it at once would cut the backoff short every time.
    ///   - body: May run again after its changes are rolled back.
    @discardableResult
    func merge<Value>(
        planning planned: InodeNumber? = nil, _ body: (inout Merge) throws -> Value
    ) throws(Blocked) -> Value {
        let (value, changes) = try store.write { database in
            var merge = Merge(database, context)
            let value = try body(&merge)
            return (value, merge.changes)
        }
        try aftermath.finish(changes, planning: planned)
        return value
    }

    /// Runs `body`, which changes nothing, on the last commit, without waiting for writers.
    func compare<Value>(_ body: (Merge) throws -> Value) throws(Blocked) -> Value {
        try store.read { try body(Merge($0, context)) }
    }
}
