import Foundation
import GRDB

/// A name in a local directory.
struct Dirent {
    var cookie: Int64
    var parent: InodeNumber
    var name: FileName
    var inode: InodeNumber
}

// Rows of `dirents`: the local names. Functions that add or remove one also update the link counts
// and the directory's times.

extension Database {
    func dirent(_ name: FileName, in parent: InodeNumber) throws -> Dirent? {
        let statement = try cachedStatement(
            sql: "SELECT cookie, parent, name, inode FROM dirents WHERE parent = ? AND name = ?")
        return try Dirent.fetchOne(statement, arguments: [parent, name])
    }

    /// Returns the name of an inode: the only one, as long as there are no hard links.
    func dirent(of inode: InodeNumber) throws -> Dirent? {
        let statement = try cachedStatement(
            sql: "SELECT cookie, parent, name, inode FROM dirents WHERE inode = ?")
        return try Dirent.fetchOne(statement, arguments: [inode])
    }

    func hasDirents(_ directory: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM dirents WHERE parent = ?)")
        return try Bool.fetchOne(statement, arguments: [directory]) ?? false
    }

    /// Returns the inode of a name with a single query.
    func inode(named name: FileName, in parent: InodeNumber) throws -> InodeRecord? {
        let statement = try cachedStatement(
            sql: """
                SELECT \(InodeRecord.columns) FROM dirents JOIN inodes ON inodes.id = dirents.inode
                WHERE parent = ? AND name = ?
                """)
        return try Row.fetchOne(statement, arguments: [parent, name]).map { InodeRecord($0) }
    }

    func entries(
        of directory: InodeNumber, after cookie: Int64, limit: Int
    ) throws -> [(Dirent, InodeRecord)] {
        let statement = try cachedStatement(
            sql: """
                SELECT cookie, parent, name, inode, \(InodeRecord.columns)
                FROM dirents JOIN inodes ON inodes.id = dirents.inode
                WHERE parent = ? AND cookie > ? ORDER BY cookie LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [directory, cookie, limit])
            .map { (Dirent(row: $0), InodeRecord($0, from: 4)) }
    }

    /// Returns the files and directories among the `count` names after `cookie` that are known only
    /// from a listing, in the order of the cookies.
    func unseen(
        in directory: InodeNumber, after cookie: Int64, among count: Int
    ) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT inodes.id FROM (
                    SELECT cookie, inode FROM dirents WHERE parent = ? AND cookie > ?
                    ORDER BY cookie LIMIT ?
                ) AS next CROSS JOIN inodes ON inodes.id = next.inode
                WHERE has_metadata = 0 AND kind <> ? ORDER BY next.cookie
                """)
        return try InodeNumber.fetchAll(
            statement, arguments: [directory, cookie, count, FileKind.symlink])
    }

    func children(of directory: InodeNumber) throws -> [Dirent] {
        let statement = try cachedStatement(
            sql: "SELECT cookie, parent, name, inode FROM dirents WHERE parent = ?")
        return try Dirent.fetchAll(statement, arguments: [directory])
    }

    /// Adds a name for a stored inode. The directory's times change to `now`.
    func insertDirent(
        _ name: FileName, in parent: InodeNumber, to inode: InodeRecord, at now: Timestamp
    ) throws {
        try cachedStatement(sql: "INSERT INTO dirents (parent, name, inode) VALUES (?, ?, ?)")
            .execute(arguments: [parent, name, inode.id])
        try changeDirectory(parent, links: inode.kind == .directory ? 1 : 0, at: now)
    }

    /// Changes the inode of a name. The name keeps its cookie, so that a program that is reading
    /// the directory gets it once.
    func redirect(
        _ dirent: Dirent, from former: FileKind, to inode: InodeRecord, at now: Timestamp
    ) throws {
        try cachedStatement(sql: "UPDATE dirents SET inode = ? WHERE cookie = ?")
            .execute(arguments: [inode.id, dirent.cookie])
        if try synced(dirent.inode) == nil { try setRemote(nil, of: dirent.inode) }
        let links = (inode.kind == .directory ? 1 : 0) - (former == .directory ? 1 : 0)
        try changeDirectory(dirent.parent, links: links, at: now)
    }

    /// Removes a name. The inode itself is unchanged.
    func removeDirent(_ dirent: Dirent, kind: FileKind, at now: Timestamp) throws {
        try cachedStatement(sql: "DELETE FROM dirents WHERE cookie = ?")
            .execute(arguments: [dirent.cookie])
        // An object observed on the remote under the name of an inode that was never there no
        // longer concerns this inode.
        if try synced(dirent.inode) == nil { try setRemote(nil, of: dirent.inode) }
        try changeDirectory(dirent.parent, links: kind == .directory ? -1 : 0, at: now)
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

    private func changeDirectory(
        _ directory: InodeNumber, links: Int, at now: Timestamp
    ) throws {
        try cachedStatement(
            sql: "UPDATE inodes SET modified = ?, changed = ?, links = links + ? WHERE id = ?"
        ).execute(arguments: [now, now, links, directory])
    }
}

extension Dirent: FetchableRecord {
    // By index: to find columns by their names takes longer than the query.
    init(row: Row) {
        cookie = row[0]
        parent = row[1]
        name = row[2]
        inode = row[3]
    }
}

extension FileName {
    /// The database's representation.
    var data: Data { Data(bytes) }
}
