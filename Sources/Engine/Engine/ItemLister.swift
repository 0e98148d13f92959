import GRDB
import Synchronization

/// Lists names with their states.
package struct ItemLister: Sendable {
    let engine: Engine

    package init(_ engine: Engine) {
        self.engine = engine
    }

    /// Returns up to `limit` names of a directory with their states, by name, those after `last`; lists the
    /// directory first if that was never done.
    ///
    /// A name that stays is seen exactly once from the first call to the last. Takes as long as there are names returned, and transfers.
    ///
    /// - Throws: `.notDirectory`, `.notFound`, and errors of the listing.
    package func items(
        of directory: InodeNumber, after last: FileName?, limit: Int
    ) async throws(EngineError) -> [ListedItem] {
        try await engine.retrying { () throws(Blocked) in
            if last == nil { try engine.refreshes.requireFirstLook(at: directory) }
            return try listed(try entries(of: directory, after: last, limit: limit))
        }
    }

    /// Returns one item with its state, with the name that its path ends with.
    package func item(
        _ inode: InodeNumber, named name: FileName
    ) async throws(EngineError) -> ListedItem? {
        try await engine.retrying { () throws(Blocked) in
            let attributes = try engine.attributes(of: inode)
            let entry = DirectoryEntry(name: name, attributes: attributes, cookie: 0)
            return try listed([entry]).first
        }
    }

    private func entries(
        of directory: InodeNumber, after last: FileName?, limit: Int
    ) throws(Blocked) -> [DirectoryEntry] {
        engine.remote.schedule.noteUse(of: directory)
        return try engine.local.tree.entries(of: directory) {
            try $0.entries(of: directory, afterName: last, limit: limit)
        }.map { dirent, inode throws(Blocked) in
            DirectoryEntry(
                name: dirent.name, attributes: try engine.local.tree.current(inode),
                cookie: dirent.cookie)
        }
    }

    private func listed(_ entries: [DirectoryEntry]) throws(Blocked) -> [ListedItem] {
        // Before the database is read: the holder of a file's lock may wait for a reader.
        let transfers = engine.transfer.progress.transfers.withLock { $0 }
        let open = entries.map { entry in
            engine.local.files.existing(entry.attributes.inode)?.state.withLock(\.presence)
        }
        return try engine.store.read { database in
            var pins = try PinLookup(database)
            return try zip(entries, open).map { entry, presence in
                let (inode, transfer) = (
                    entry.attributes.inode, transfers[entry.attributes.inode]
                )
                return ListedItem(
                    name: entry.name, kind: entry.attributes.kind, size: entry.attributes.size,
                    modified: entry.attributes.modified,
                    condition: transfer != nil
                        ? .state(.uploading) : try condition(of: inode, presence, database),
                    transfer: transfer,
                    pin: try pins.pin(of: inode).map { $0 == inode ? .itself : .inherited })
            }
        }
    }

    /// - Parameter presence: That of an open file.
    private func condition(
        of inode: InodeNumber, _ presence: Presence?, _ database: Database
    ) throws -> ListedItem.Condition {
        let pending = try database.pending(inode)
        let isInDanger = try database.isInDanger(inode)
        if pending?.failure?.isFinal == true || isInDanger { return .failed }
        if try database.conflictOriginal(of: inode) != nil { return .conflict }
        if pending?.failure?.isHeldDeletion == true { return .held }
        if try database.isExcluded(inode) { return .state(.excluded) }
        if pending != nil { return .state(.dirty) }
        // It may have been removed since its name was read.
        guard let record = try database.inode(inode) else { return .state(.remote) }
        switch record.kind {
        case .directory: return .state(record.isListed ? .local : .remote)
        case .symlink: return .state(.local)
        case .file where presence == nil && record.size == 0: return .state(.local)
        case .file: return .state(ItemState(presence ?? record.presence))
        }
    }
}
