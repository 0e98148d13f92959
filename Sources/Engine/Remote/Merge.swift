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
        let agenda: Agenda
    }

    let database: Database
    let context: Context
    /// The inode whose plan the merge carries out. It is planned again, or backs off after a
    /// failure, by itself; scheduling it at once would cut the backoff short every time.
    let planned: InodeNumber?
    var changes: RemoteChanges
    /// A directory whose new names the kernel cannot know, not even as absent: until its first
    /// listing has ended, it caches none that it did not get from us.
    var firstListed: InodeNumber?
    /// Whether that directory was empty for programs until now, as it was made here.
    var wasFirstMadeHere = false
    /// The number of names added.
    var newNames = 0

    init(_ database: Database, _ context: Context, planning planned: InodeNumber? = nil) {
        self.database = database
        self.context = context
        self.planned = planned
        changes = RemoteChanges(removalsLeft: context.configuration.removalsMax)
    }

    var configuration: EngineConfiguration { context.configuration }
    var clock: any Clock { context.clock }
    var logger: Logger { context.logger }
    var gate: any Provider { context.gate }

    /// Marks an inode as pending, and as due now.
    mutating func markPending(_ inode: InodeNumber) throws {
        let due = inode == planned ? nil : context.agenda.due()
        try database.markPending(inode, at: clock.wallTime, due: due)
        changes.isScheduled = true
    }

    /// Makes inodes due now, if they are pending.
    mutating func enqueue(_ inodes: [InodeNumber]) throws {
        try database.enqueue(inodes.filter { $0 != planned }, due: context.agenda.due())
        changes.isScheduled = true
    }

    /// Records that inodes were deleted on the remote.
    mutating func noteGone(_ inodes: [InodeNumber], isHeld: Bool) throws {
        try database.noteGone(
            inodes, isHeld: isHeld, at: clock.wallTime, due: context.agenda.due())
        changes.isScheduled = true
    }

    mutating func removePending(_ inode: InodeNumber) throws {
        try database.removePending(inode)
        changes.isScheduled = true
    }
}

extension Merge.Context {
    /// Returns the write time up to which an object's metadata is known: a listing with a later time
    /// shows a change. Observations stored in `remote` lack that time; the next listing then counts
    /// as later.
    func remoteModified(_ object: RemoteObject) -> Timestamp? {
        guard !gate.traits.listsMetadata, object.kind == .file else { return nil }
        let isLookedAt = object.hasMetadata && object.remoteModified == nil
        return isLookedAt ? Timestamp(nanoseconds: 0) : object.remoteModified
    }

    func setRemoteModified(
        _ object: RemoteObject, of inode: InodeNumber, in database: Database
    ) throws {
        guard !gate.traits.listsMetadata, object.kind == .file else { return }
        try database.setRemoteModified(remoteModified(object), of: inode)
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
    ///   - planned: The inode whose plan this carries out, see ``Merge/planned``.
    ///   - body: May run again after its changes are rolled back.
    @discardableResult
    func merge<Value>(
        planning planned: InodeNumber? = nil, _ body: (inout Merge) throws -> Value
    ) throws(Blocked) -> Value {
        let (value, changes) = try store.write { database in
            var merge = Merge(database, context, planning: planned)
            let value = try body(&merge)
            return (value, merge.changes)
        }
        try aftermath.finish(changes)
        return value
    }

    /// Runs `body`, which changes nothing, on the last commit, without waiting for writers.
    func compare<Value>(_ body: (Merge) throws -> Value) throws(Blocked) -> Value {
        try store.read { try body(Merge($0, context)) }
    }
}
