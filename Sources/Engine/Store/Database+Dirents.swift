import GRDB

/// A name in a local directory.
struct Dirent {
    var cookie: Int64
    var parent: InodeNumber
    var name: FileName
    var inode: InodeNumber
}

// Rows of `dirents`: the local names. Functions that add or remove one also update the link counts
// and the directory's times, and record the change for those who watch, see ``RecordedChange``.

extension Database {
    func dirent(_ name: FileName, in parent: InodeNumber) throws -> Dirent? {
        try row("\(Dirent.query) WHERE parent = ? AND name = ?", [parent, name], Dirent.init)
    }

    /// Returns the name of an inode: the only one, as long as there are no hard links.
    func dirent(of inode: InodeNumber) throws -> Dirent? {
        try row("\(Dirent.query) WHERE inode = ?", [inode], Dirent.init)
    }

    /// Whether a name is the first one in the listing of its directory.
    func isFirst(_ dirent: Dirent) throws -> Bool {
        try !hasRow("dirents WHERE parent = ? AND cookie < ?", [dirent.parent, dirent.cookie])
    }

    func hasDirents(_ directory: InodeNumber) throws -> Bool {
        try hasRow("dirents WHERE parent = ?", [directory])
    }

    /// Returns the directories in a directory whose listings are complete.
    func listedDirectories(in directory: InodeNumber) throws -> [InodeNumber] {
        try values(
            """
            SELECT inodes.id FROM dirents JOIN inodes ON inodes.id = dirents.inode
            WHERE parent = ? AND kind = \(FileKind.directory.rawValue) AND listed = 1
            """, [directory])
    }

    /// Returns the inode of a name with a single query.
    func inode(named name: FileName, in parent: InodeNumber) throws -> InodeRecord? {
        try row(
            """
            SELECT \(InodeRecord.columns) FROM dirents JOIN inodes ON inodes.id = dirents.inode
            WHERE parent = ? AND name = ?
            """, [parent, name]
        ) { InodeRecord($0) }
    }

    func entries(
        of directory: InodeNumber, after cookie: Int64, limit: Int
    ) throws -> [(Dirent, InodeRecord)] {
        try rows(
            "\(Dirent.queryWithInodes) WHERE parent = ? AND cookie > ? ORDER BY cookie LIMIT ?",
            [directory, cookie, limit]
        ) { (Dirent($0), InodeRecord($0, from: 4)) }
    }

    /// - Parameter last: nil for the first names.
    func entries(
        of directory: InodeNumber, afterName last: FileName?, limit: Int
    ) throws -> [(Dirent, InodeRecord)] {
        // Every name comes after the empty one.
        try rows(
            "\(Dirent.queryWithInodes) WHERE parent = ? AND name > ifnull(?, x'') ORDER BY name LIMIT ?",
            [directory, last, limit]
        ) { (Dirent($0), InodeRecord($0, from: 4)) }
    }

    /// Returns the files and directories among the `count` names after `cookie` that are known only
    /// from a listing, in the order of the cookies.
    func unseen(
        in directory: InodeNumber, after cookie: Int64, among count: Int
    ) throws -> [InodeNumber] {
        try values(
            """
            SELECT inodes.id FROM (
                SELECT cookie, inode FROM dirents WHERE parent = ? AND cookie > ?
                ORDER BY cookie LIMIT ?
            ) AS next CROSS JOIN inodes ON inodes.id = next.inode
            WHERE has_metadata = 0 AND kind <> ? ORDER BY next.cookie
            """, [directory, cookie, count, FileKind.symlink])
    }

    /// Returns up to `limit` subdirectories among the `count` names after `cookie`, in the order of the
    /// cookies, and whether they are listed.
    func subdirectories(
        of directory: InodeNumber, after cookie: Int64, among count: Int, limit: Int
    ) throws -> [(inode: InodeNumber, isListed: Bool)] {
        try rows(
            """
            SELECT inodes.id, listed FROM (
                SELECT cookie, inode FROM dirents WHERE parent = ? AND cookie > ?
                ORDER BY cookie LIMIT ?
            ) AS next CROSS JOIN inodes ON inodes.id = next.inode
            WHERE kind = ? ORDER BY next.cookie LIMIT ?
            """, [directory, cookie, count, FileKind.directory, limit]
        ) { ($0[0], $0[1]) }
    }

    func children(of directory: InodeNumber) throws -> [Dirent] {
        try rows("\(Dirent.query) WHERE parent = ?", [directory], Dirent.init)
    }

    /// Adds a name for a stored inode. The directory's times change to `now`.
    ///
    /// - Parameter side: See ``record(_:on:_:in:from:at:)``.
    func insertDirent(
        _ name: FileName, in parent: InodeNumber, to inode: InodeRecord,
        on side: RecordedChange.Side?, at now: Timestamp
    ) throws {
        try addDirent(name, in: parent, to: inode, at: now)
        try record(.created, on: side, name, in: parent, at: now)
    }

    private func addDirent(
        _ name: FileName, in parent: InodeNumber, to inode: InodeRecord, at now: Timestamp
    ) throws {
        try run(
            "INSERT INTO dirents (parent, name, inode) VALUES (?, ?, ?)", [parent, name, inode.id])
        try changeDirectory(parent, links: inode.kind == .directory ? 1 : 0, at: now)
    }

    /// Adds names for stored inodes with consecutive numbers. The directory's times change to `now`.
    ///
    /// - Parameter directories: The number of directories among the inodes.
    func insertDirents(
        _ objects: PackedObjects, in parent: InodeNumber, from first: InodeNumber,
        directories: Int, at now: Timestamp
    ) throws {
        try run(
            """
            INSERT INTO dirents (parent, name, inode)
            SELECT :parent, \(PackedObjects.name), :first + page.key
            FROM json_each(:places) AS page
            """, objects.arguments(["parent": parent, "first": first]))
        try changeDirectory(parent, links: directories, at: now)
    }

    /// Changes the inode of a name to that of another remote version. The name keeps its cookie, so that
    /// a program that is reading the directory gets it once.
    func redirect(
        _ dirent: Dirent, from former: FileKind, to inode: InodeRecord, at now: Timestamp
    ) throws {
        try run("UPDATE dirents SET inode = ? WHERE cookie = ?", [inode.id, dirent.cookie])
        if try !isSynced(dirent.inode) { try setRemote(nil, of: dirent.inode) }
        let links = (inode.kind == .directory ? 1 : 0) - (former == .directory ? 1 : 0)
        try changeDirectory(dirent.parent, links: links, at: now)
        try record(.changed, on: .remote, dirent.name, in: dirent.parent, at: now)
    }

    /// Removes a name. The inode itself is unchanged.
    ///
    /// - Parameter side: See ``record(_:on:_:in:from:at:)``.
    /// - Returns: Whether the remote had another object of that name, which is not known any more.
    @discardableResult
    func removeDirent(
        _ dirent: Dirent, kind: FileKind, on side: RecordedChange.Side?, at now: Timestamp
    ) throws -> Bool {
        try record(.removed, on: side, dirent.name, in: dirent.parent, at: now)
        return try dropDirent(dirent, kind: kind, at: now)
    }

    private func dropDirent(
        _ dirent: Dirent, kind: FileKind, at now: Timestamp
    ) throws -> Bool {
        try run("DELETE FROM dirents WHERE cookie = ?", [dirent.cookie])
        // An object observed on the remote under the name of an inode that was never there no
        // longer concerns this inode.
        let isObserved = try !isSynced(dirent.inode) && isObserved(dirent.inode)
        if isObserved { try setRemote(nil, of: dirent.inode) }
        try changeDirectory(dirent.parent, links: kind == .directory ? -1 : 0, at: now)
        return isObserved
    }

    /// Replaces the name of an inode by another one.
    ///
    /// - Parameter change: How it is recorded, as a local one.
    /// - Returns: As of ``removeDirent(_:kind:on:at:)``.
    @discardableResult
    func moveDirent(
        _ dirent: Dirent, to name: FileName, in parent: InodeNumber, of inode: InodeRecord,
        as change: RecordedChange.Kind = .moved, at now: Timestamp
    ) throws -> Bool {
        let former = try isRecorded ? ObjectKey(path(of: dirent.parent) + [dirent.name]) : nil
        // The trigger `dirents_left` takes a name that goes for a directory that goes.
        let movedOut: [InodeNumber] =
            inode.kind == .directory
            ? try values("SELECT inode FROM synced WHERE parent_before_move = ?", [inode.id]) : []
        let isObserved = try dropDirent(dirent, kind: inode.kind, at: now)
        try addDirent(name, in: parent, to: inode, at: now)
        try record(change, on: .local, name, in: parent, from: former, at: now)
        // None that the directory is in now: it would lie below itself.
        for movedOut in movedOut where try !isInode(parent, atOrBelow: movedOut) {
            try run(
                "UPDATE synced SET parent_before_move = ? WHERE inode = ?", [inode.id, movedOut])
        }
        return isObserved
    }

    /// Whether `inode` is `ancestor` or lies below it, by local names.
    func isInode(_ inode: InodeNumber, atOrBelow ancestor: InodeNumber) throws -> Bool {
        var current = inode
        while current != ancestor {
            guard current != .root, let dirent = try dirent(of: current) else { return false }
            current = dirent.parent
        }
        return true
    }

    /// Returns the local path of an inode for messages; of an unlinked inode, its path on the
    /// remote, or its former local path if it has a temporary name.
    func path(of inode: InodeNumber) throws -> [FileName] {
        var names: [FileName] = []
        var current = inode
        while current != .root {
            if let dirent = try dirent(of: current) {
                names.append(dirent.name)
                current = dirent.parent
            } else if let synced = try synced(current) {
                if let former = try pathBeforeMove(of: current, at: synced) {
                    return former + names.reversed()
                }
                names.append(synced.name)
                current = synced.parent
            } else {
                break
            }
        }
        return names.reversed()
    }

    /// Returns the directory at a local path; nil if there is none.
    func directory(at path: some Sequence<FileName>) throws -> InodeNumber? {
        var current = InodeNumber.root
        for name in path {
            guard let inode = try inode(named: name, in: current), inode.kind == .directory else {
                return nil
            }
            current = inode.id
        }
        return current
    }

    /// Records a change of a name, if changes are recorded. Called while the name is there.
    ///
    /// - Parameter side: Where it was made; nil if it changes nothing that could be seen before.
    func record(
        _ kind: RecordedChange.Kind, on side: RecordedChange.Side?, _ name: FileName,
        in parent: InodeNumber, from former: ObjectKey? = nil, at now: Timestamp
    ) throws {
        guard let side, try isRecorded else { return }
        let path = ObjectKey(try path(of: parent) + [name])
        try insertChange(kind, on: side, at: path, from: former, at: now)
    }

    /// Records a change of an inode, if it has a name and changes are recorded.
    func record(
        _ kind: RecordedChange.Kind, on side: RecordedChange.Side, _ inode: InodeNumber,
        at now: Timestamp
    ) throws {
        guard try isRecorded, let dirent = try dirent(of: inode) else { return }
        try record(kind, on: side, dirent.name, in: dirent.parent, at: now)
    }

    private func changeDirectory(
        _ directory: InodeNumber, links: Int, at now: Timestamp
    ) throws {
        try run(
            "UPDATE inodes SET modified = ?, changed = ?, links = links + ? WHERE id = ?",
            [now, now, links, directory])
    }
}

extension Dirent {
    fileprivate static let query = "SELECT cookie, parent, name, inode FROM dirents"

    /// With the columns of an ``InodeRecord`` from the fifth on.
    fileprivate static let queryWithInodes = """
        SELECT cookie, parent, name, inode, \(InodeRecord.columns)
        FROM dirents JOIN inodes ON inodes.id = dirents.inode
        """

    // By index: to find columns by their names takes longer than the query.
    fileprivate init(_ row: StatementRow) {
        self.init(cookie: row[0], parent: row[1], name: row[2], inode: row[3])
    }
}
