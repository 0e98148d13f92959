import GRDB
import Logging
import Synchronization

// The known names that a complete listing lacks.

extension ListingMerge {
    /// Number of known names compared in one transaction.
    private static var comparedNames: Int { 2_000 }

    /// Returns the known names that a complete listing lacks, in pieces, without a change.
    ///
    /// - Parameter last: The last name of the piece before; nil for the first.
    /// - Returns: nil in place of the last name after the last piece.
    func missing(
        after last: FileName?, _ database: Database
    ) throws -> (missing: [RemoteName], last: FileName?) {
        let limit = Self.comparedNames
        let known = try database.syncedChildren(of: directory, after: last, limit: limit)
        return (try lacking(known), known.count == limit ? known.last?.name : nil)
    }

    /// Returns those names that are still known: an operation of our own may have changed them since they
    /// were compared.
    func stillMissing(_ missing: [RemoteName], _ database: Database) throws -> [InodeNumber] {
        try missing.filter { known in
            guard !isTouched(known.name) else { return false }
            return try database.syncedInode(known.name, in: directory) == known.inode
        }.map(\.inode)
    }
}

extension DeletionHold {
    /// Number of items that the guard counts together: a program that deletes a file waits for it.
    private static var countedItems: Int { 1_000 }

    /// Has the guard count the items at or below inodes that the remote has lost, without a change.
    ///
    /// - Returns: Their number.
    func countRemote(_ inodes: [InodeNumber], at now: Duration, _ database: Database) throws -> Int
    {
        let items = try database.agreedItems(atOrBelow: database.agreed(among: inodes))
        var (count, some): (Int, [InodeNumber]) = (0, [])
        while let item = try items.next() {
            some.append(item)
            count += 1
            guard some.count == Self.countedItems else { continue }
            guardian.withLock { $0.noteRemote(some, at: now) }
            some.removeAll(keepingCapacity: true)
        }
        guardian.withLock { $0.noteRemote(some, at: now) }
        return count
    }

    /// Whether deletions in directories await a confirmation: by the guard, or as others of the same
    /// listing do.
    func holdsRemote(
        in directories: [InodeNumber], at now: Duration, _ database: Database
    ) throws -> Bool {
        let isHeld = try guardian.withLock { guardian in
            try guardian.holdsRemote(at: now) { try database.syncedCount() }
        }
        return try isHeld || directories.contains { try database.isHeldListing($0) }
    }
}

extension Merge.Context {
    func logHeld(_ items: Int) {
        logger.warning("remote deletions await confirmation", metadata: ["items": "\(items)"])
    }
}

extension Merge {
    /// Decides whether counted deletions are held, and stores that before the first of them is recorded.
    ///
    /// - Parameter items: Their number, for the log.
    /// - Returns: nil if the directory was moved or removed since.
    func judge(_ listing: ListingMerge, items: Int) throws -> Bool? {
        guard try currentDirectory(of: listing) != nil else { return nil }
        let isHeld = try context.deletions.holdsRemote(
            in: [listing.directory], at: clock.uptime, database)
        guard isHeld else { return false }
        try database.insertHeldListing(listing.directory)
        context.logHeld(items)
        return true
    }

    /// Records the deletions of some names that a complete listing lacks.
    ///
    /// - Returns: false if the directory was moved or removed since; nothing is changed then.
    mutating func noteMissing(
        _ missing: [RemoteName], _ listing: ListingMerge, isHeld: Bool
    ) throws -> Bool {
        guard try currentDirectory(of: listing) != nil else { return false }
        let gone = try database.agreed(among: listing.stillMissing(missing, database))
        try noteGone(gone, isHeld: isHeld)
        return true
    }
}
