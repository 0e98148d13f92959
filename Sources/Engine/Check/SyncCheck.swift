import GRDB

/// Repairs the remote paths of synced items.
struct SyncCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try context.forEach(
            "inode, parent", of: "synced",
            where: "NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode)"
        ) { inode, row in
            try context.tell(
                .synced, inode, "the inode of a remote item is missing",
                repair: "the next listing of the remote restores it")
            try database.removeSynced(inode)
            try context.unlist(row[1])
        }
        try context.forEach(
            "inode", of: "synced",
            where: """
                parent <> 1 AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent AND kind = 1)
                AND NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone)
                """
        ) { inode, _ in try relocate(inode) }
        try breakRemoteCircles()
    }

    /// Assumes that an item whose remote path is not known has its local path there. Uploads and
    /// deletions name the version, so no other remote file is harmed.
    private func relocate(_ inode: InodeNumber) throws {
        guard var synced = try database.synced(inode) else { return }
        let fault = "its remote parent is not known"
        if let dirent = try database.dirent(of: inode),
            try dirent.parent == .root || database.isSynced(dirent.parent),
            (dirent.parent, dirent.name) != (synced.parent, synced.name),
            try database.syncedInode(dirent.name, in: dirent.parent) == nil
        {
            (synced.parent, synced.name) = (dirent.parent, dirent.name)
            try database.setSynced(synced, of: inode)
            try context.unlist(dirent.parent)
            try context.tell(
                .synced, inode, fault, repair: "it is looked up on the remote at its local path")
            try database.markPending(inode, at: context.now)
        } else {
            try treatAsNew(inode, fault)
        }
    }

    private func treatAsNew(_ inode: InodeNumber, _ fault: String) throws {
        try context.tell(
            .synced, inode, fault, repair: "it counts as new; identical contents are merged")
        try database.removeSynced(inode)
        try database.markPending(inode, at: context.now)
    }

    /// Forgets the remote path of directories that contain each other there.
    private func breakRemoteCircles() throws {
        try database.run("DELETE FROM check_reached")
        // The engine handles descendants of a directory that no longer exists.
        try context.reach(
            from: """
                SELECT 1 UNION
                SELECT inode FROM synced WHERE parent <> 1
                    AND NOT EXISTS (SELECT 1 FROM synced AS above WHERE above.inode = synced.parent)
                """, by: "synced")
        try context.breakCircles(in: "synced") {
            try database.synced($0)?.parent
        } cut: {
            try treatAsNew($0, "on the remote it is its own ancestor")
        }
    }
}
