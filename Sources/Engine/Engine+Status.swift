import GRDB
import Synchronization

/// What is here, what is on the remote, and what lies between, at one moment.
package struct EngineStatus: Sendable {
    /// Names that the engine knows.
    package var itemCount = 0
    /// Bytes of files of which something is here.
    package var localBytes: UInt64 = 0
    package var pendingCount = 0
    /// The pending items, the oldest first, as many as were asked for.
    package var items: [PendingItem] = []
    package var reachability = Reachability()
}

/// An item whose changes are not on the remote yet.
package struct PendingItem: Sendable {
    package var inode: InodeNumber
    /// From the mount point on, without a leading slash.
    package var path: String
    package var state: ItemState
    /// What is happening on the remote right now.
    package var transfer: Transfer?
    package var size: UInt64
    package var attempts: Int
    package var failure: SyncFailure?
    package var since: Timestamp
}

extension Engine {
    /// - Parameters:
    ///   - inode: Only what lies at or below it is counted among the pending.
    ///   - limit: How many items are told at the most.
    package func status(below inode: InodeNumber, limit: Int) throws(EngineError) -> EngineStatus {
        do throws(Halt) {
            var status = try store.read { database in
                var status = EngineStatus()
                status.itemCount =
                    try Int.fetchOne(database, sql: "SELECT count(*) FROM dirents") ?? 0
                status.localBytes = try database.presentBytes()
                let pending = try database.pending(below: inode, limit: .max)
                status.pendingCount = pending.count
                status.items = try pending.prefix(limit).map { try item($0, database) }
                return status
            }
            status.reachability = reachability.withLock { $0 }
            return status
        } catch {
            throw error.failure
        }
    }

    private func item(_ pending: PendingRecord, _ database: Database) throws -> PendingItem {
        let transfer = transfers.withLock { $0[pending.inode] }
        return PendingItem(
            inode: pending.inode,
            path: ObjectKey(try database.path(of: pending.inode)).description,
            state: transfer == nil ? .dirty : .uploading, transfer: transfer,
            size: try database.inode(pending.inode)?.size ?? 0, attempts: pending.attempts,
            failure: pending.failure, since: pending.since)
    }

    /// How often something that ``status(below:limit:)`` shows has changed.
    package var changeCount: UInt64 { changeBell.rings }

    /// Returns once ``changeCount`` is over `count`, or the task is cancelled.
    package func waitForChange(after count: UInt64) async {
        await changeBell.wait(after: count)
    }

    /// Makes everything at or below an inode due now: no settle time, no waiting after a failure.
    package func hasten(below inode: InodeNumber) throws(EngineError) {
        do throws(Halt) {
            let pending = try store.read { try $0.pending(below: inode, limit: .max) }
            for record in pending { enqueue(record.inode, after: .zero) }
        } catch {
            throw error.failure
        }
    }

    /// The inode of a path from the mount point on.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, and what a listing throws.
    package func resolve(_ path: String) async throws(EngineError) -> InodeNumber {
        var inode = InodeNumber.root
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(Array(part)) else {
                throw EngineError(.notFound, "find \"\(path)\"")
            }
            let parent = inode
            inode = try await completing { () throws(Halt) in try lookup(name, in: parent).inode }
        }
        return inode
    }
}
