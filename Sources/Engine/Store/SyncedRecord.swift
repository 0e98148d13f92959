import Foundation
import GRDB

/// One row of `synced`: the state last agreed on by both sides.
struct SyncedRecord: Hashable {
    var parent: InodeNumber
    var name: FileName
    /// The remote version of a file, or of a symbolic link that is listed as a file; nil for other
    /// kinds, and for a file whose directory was deleted while it was open for local writing.
    var etag: ETag?
    var size: UInt64
    /// The local attributes as last sent to or received from the remote.
    var mode: UInt16
    var modified: Timestamp
    /// The ``InodeRecord/generation`` of the bytes on the remote; of a directory, of its time.
    var generation: Int64
    var extendedAttributes: ExtendedAttributes

    static let columns = """
        synced.parent, synced.name, synced.etag, synced.size, synced.mode, synced.modified,
        synced.generation, synced.xattrs
        """
}

/// The known state of a name on the remote, with which a listing is compared.
struct KnownObject {
    var record: InodeRecord
    var synced: SyncedRecord
    /// See ``RemoteObject/remoteModified``.
    var remoteModified: Timestamp?
}

/// A name in a directory on the remote, and its inode.
struct RemoteName {
    var inode: InodeNumber
    var name: FileName
}

// Rows of `synced` and `remote`: the names and versions on the remote.

extension Database {
    func synced(_ inode: InodeNumber) throws -> SyncedRecord? {
        try row("SELECT \(SyncedRecord.columns) FROM synced WHERE inode = ?", [inode]) {
            SyncedRecord($0)
        }
    }

    /// Whether the remote has an inode, as far as known.
    func isSynced(_ inode: InodeNumber) throws -> Bool {
        try hasRow("synced WHERE inode = ?", [inode])
    }

    /// Returns the known states of names in a directory on the remote, with a single query.
    ///
    /// - Returns: One element for each name; nil if the name is unknown, or if its inode has a row
    ///   in `remote`.
    func knownObjects(_ names: [FileName], in parent: InodeNumber) throws -> [KnownObject?] {
        var known = [KnownObject?](repeating: nil, count: names.count)
        try forEachRow(
            """
            SELECT page.key, remote_modified, \(SyncedRecord.columns), \(InodeRecord.columns)
            FROM json_each(:places) AS page
            CROSS JOIN synced ON synced.parent = :parent AND synced.name = \(PackedNames.name)
            CROSS JOIN inodes ON inodes.id = synced.inode
            WHERE NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode)
            """, PackedNames(names).arguments(["parent": parent])
        ) { row in
            known[row[0]] = KnownObject(
                record: InodeRecord(row, from: 10), synced: SyncedRecord(row, from: 2),
                remoteModified: row[1])
        }
        return known
    }

    /// Returns the indices of those names that an object or a local inode in a directory has.
    func knownNames(_ names: [FileName], in parent: InodeNumber) throws -> [Int] {
        try rows(
            """
            SELECT page.key FROM json_each(:places) AS page
            WHERE EXISTS (SELECT 1 FROM synced WHERE parent = :parent AND name = \(PackedNames.name))
            OR EXISTS (SELECT 1 FROM dirents WHERE parent = :parent AND name = \(PackedNames.name))
            """, PackedNames(names).arguments(["parent": parent])
        ) { $0[0] }
    }

    /// Returns the inode that has a name on the remote.
    func syncedInode(_ name: FileName, in parent: InodeNumber) throws -> InodeNumber? {
        try value("SELECT inode FROM synced WHERE parent = ? AND name = ?", [parent, name])
    }

    /// Returns the contents of a directory on the remote, without objects seen to be deleted.
    func syncedChildren(
        of parent: InodeNumber
    ) throws -> [(inode: InodeNumber, name: FileName)] {
        try rows(
            """
            SELECT inode, name FROM synced WHERE parent = ? AND NOT EXISTS (
                SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone = 1)
            """, [parent]
        ) { ($0[0], $0[1]) }
    }

    /// Returns part of the contents of a directory on the remote, without objects seen to be
    /// deleted, in ascending order of the names.
    ///
    /// - Parameter last: The last name of the part before; nil for the first.
    func syncedChildren(
        of parent: InodeNumber, after last: FileName?, limit: Int
    ) throws -> [RemoteName] {
        try rows(
            """
            SELECT inode, name FROM synced WHERE parent = ? AND name > ? AND NOT EXISTS (
                SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone = 1)
            ORDER BY name LIMIT ?
            """, [parent, last.map { Data($0.bytes) } ?? Data(), limit]
        ) { RemoteName(inode: $0[0], name: $0[1]) }
    }

    /// Returns the inodes whose name is in a directory on both sides, in the order of its entries.
    func agreedChildren(
        of parent: InodeNumber, after cookie: Int64, limit: Int
    ) throws -> [(cookie: Int64, inode: InodeNumber)] {
        try rows(
            """
            SELECT cookie, synced.inode FROM dirents JOIN synced ON synced.inode = dirents.inode
            WHERE dirents.parent = ?1 AND synced.parent = ?1 AND cookie > ?2
            ORDER BY cookie LIMIT ?3
            """, [parent, cookie, limit]
        ) { ($0[0], $0[1]) }
    }

    /// Whether a directory has an entry only on the local side.
    func hasOwnDirents(_ directory: InodeNumber) throws -> Bool {
        try hasRow(
            """
            dirents WHERE parent = ?1 AND NOT EXISTS (
                SELECT 1 FROM synced WHERE synced.inode = dirents.inode AND synced.parent = ?1)
            """, [directory])
    }

    func firstSyncedChild(of parent: InodeNumber) throws -> InodeNumber? {
        try value("SELECT inode FROM synced WHERE parent = ? LIMIT 1", [parent])
    }

    /// Stores the state that both sides now agree on, and removes earlier observations.
    func setSynced(_ synced: SyncedRecord, of inode: InodeNumber) throws {
        try run(
            """
            \(SyncedRecord.insertion) ON CONFLICT (inode) DO UPDATE SET
                parent = excluded.parent, name = excluded.name, etag = excluded.etag,
                size = excluded.size, mode = excluded.mode, modified = excluded.modified,
                generation = excluded.generation, xattrs = excluded.xattrs
            """, synced.arguments(of: inode))
        try setRemote(nil, of: inode)
    }

    /// Stores the agreed state of a new inode.
    func insertSynced(_ synced: SyncedRecord, of inode: InodeNumber) throws {
        try run(SyncedRecord.insertion, synced.arguments(of: inode))
    }

    /// Returns the time up to which all changes of a synchronised file are known, see
    /// ``RemoteObject/remoteModified``; nil if the next listing sets it.
    func remoteModified(_ inode: InodeNumber) throws -> Timestamp? {
        try value("SELECT remote_modified FROM synced WHERE inode = ?", [inode])
    }

    func setRemoteModified(_ time: Timestamp?, of inode: InodeNumber) throws {
        try run("UPDATE synced SET remote_modified = ? WHERE inode = ?", [time, inode])
    }

    func removeSynced(_ inode: InodeNumber) throws {
        try run("DELETE FROM synced WHERE inode = ?", [inode])
        try setRemote(nil, of: inode)
    }

    /// Returns the key of an inode on the remote; nil if it, or a directory above it, is not there.
    func remoteKey(of inode: InodeNumber) throws -> ObjectKey? {
        var names: [FileName] = []
        var current = inode
        while current != .root {
            guard let synced = try synced(current) else { return nil }
            names.append(synced.name)
            current = synced.parent
        }
        return ObjectKey(names.reversed())
    }

    func remote(_ inode: InodeNumber, name: FileName) throws -> RemoteObservation? {
        try row(
            """
            SELECT gone, kind, etag, size, modified, mode, target, has_metadata, xattrs
            FROM remote WHERE inode = ?
            """, [inode]
        ) { RemoteObservation($0, name: name) }
    }

    /// Whether an object other than the agreed one was observed in an inode's place.
    func isObserved(_ inode: InodeNumber) throws -> Bool {
        try hasRow("remote WHERE inode = ?", [inode])
    }

    /// Whether an item deleted here appears here again: its observed object is to be accepted, also if it is the
    /// agreed one, as of a deletion that was undone.
    func isReturning(_ record: InodeRecord) throws -> Bool {
        try record.links == 0 && isObserved(record.id)
    }

    /// Returns the entries of a local directory that were never on the remote and in whose intended
    /// place another object was observed, in ascending order of the names.
    func newInodesObserved(in directory: InodeNumber) throws -> [RemoteName] {
        try rows(
            """
            SELECT remote.inode, dirents.name FROM remote
            CROSS JOIN dirents ON dirents.inode = remote.inode
            WHERE dirents.parent = ?
            AND NOT EXISTS (SELECT 1 FROM synced WHERE synced.inode = remote.inode)
            ORDER BY dirents.name
            """, [directory]
        ) { RemoteName(inode: $0[0], name: $0[1]) }
    }

    func setRemote(_ observation: RemoteObservation?, of inode: InodeNumber) throws {
        switch observation {
        case nil:
            try run("DELETE FROM remote WHERE inode = ?", [inode])
        case .gone:
            try run(
                """
                INSERT OR REPLACE INTO remote (inode, gone, kind, size, modified)
                VALUES (?, 1, 0, 0, 0)
                """, [inode])
        case .object(let object):
            try run(
                """
                INSERT OR REPLACE INTO remote
                    (inode, gone, kind, etag, size, modified, mode, target, has_metadata, xattrs)
                VALUES (?, 0, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [
                    inode, object.kind, object.etag, object.size.stored, object.modified,
                    object.mode, object.target.map { Data($0) }, object.hasMetadata,
                    object.extendedAttributes,
                ])
        }
    }
}

extension SyncedRecord {
    fileprivate static let insertion = """
        INSERT INTO synced (inode, parent, name, etag, size, mode, modified, generation, xattrs)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    fileprivate func arguments(of inode: InodeNumber) -> Arguments {
        [
            inode, parent, name, etag, size.stored, mode, modified, generation, extendedAttributes,
        ]
    }

    /// - Parameter first: The index of the first of ``columns`` in the row.
    init(_ row: StatementRow, from first: Int = 0) {
        parent = row[first]
        name = row[first + 1]
        etag = row[first + 2]
        size = UInt64(stored: row[first + 3])
        mode = row[first + 4]
        modified = row[first + 5]
        generation = row[first + 6]
        extendedAttributes = row[first + 7] ?? ExtendedAttributes()
    }
}

extension RemoteObservation {
    fileprivate init(_ row: StatementRow, name: FileName) {
        if row[0] {
            self = .gone
            return
        }
        self = .object(
            RemoteObject(
                name: name, kind: FileKind(rawValue: row[1]) ?? .file, etag: row[2],
                size: UInt64(stored: row[3]), modified: row[4], mode: row[5],
                target: (row[6] as Data?).map { [UInt8]($0) }, hasMetadata: row[7],
                extendedAttributes: row[8]))
    }
}
