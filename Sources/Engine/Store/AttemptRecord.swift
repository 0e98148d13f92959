import Foundation
import GRDB

/// One row of `attempts`: a change that the remote was asked for, and whose answer is not known.
///
/// It is stored before the request leaves and removed with the answer. One that is found without
/// its request under way (the answer got lost, or the process died) is looked into before anything
/// else is planned for its inode: else an object that we made would pass for somebody else's.
struct AttemptRecord: Hashable {
    /// Where the object is, if the change happened.
    var parent: InodeNumber
    var name: FileName
    /// What it is like then. The size and time also tell whether the object is ours.
    var size: UInt64
    var mode: UInt16
    var extendedAttributes: ExtendedAttributes
    var modified: Timestamp
    /// The ``InodeRecord/generation`` whose bytes it has then, of a directory whose time.
    var generation: Int64
    /// The inode whose place on the remote it takes.
    var replaced: InodeNumber?
    /// What an upload sends; nil of other changes, and where size and time tell enough.
    var digest: ContentDigest?
}

extension Database {
    func attempt(of inode: InodeNumber) throws -> AttemptRecord? {
        let statement = try cachedStatement(
            sql: """
                SELECT parent, name, size, mode, modified, generation, replaced, digest, xattrs
                FROM attempts WHERE inode = ?
                """)
        return try Row.fetchOne(statement, arguments: [inode.rawValue]).map { AttemptRecord($0) }
    }

    /// The inode that may have got a name on the remote.
    func attemptingInode(_ name: FileName, in parent: InodeNumber) throws -> InodeNumber? {
        let statement = try cachedStatement(
            sql: "SELECT inode FROM attempts WHERE parent = ? AND name = ? LIMIT 1")
        return try Int64.fetchOne(statement, arguments: [parent.rawValue, name.data])
            .map { InodeNumber(rawValue: $0) }
    }

    /// Another inode that may have got the place that an inode is known to have on the remote.
    func contender(of inode: InodeNumber, at synced: SyncedRecord) throws -> InodeNumber? {
        let statement = try cachedStatement(
            sql: "SELECT inode FROM attempts WHERE parent = ? AND name = ? AND inode <> ? LIMIT 1")
        return try Int64.fetchOne(
            statement,
            arguments: [synced.parent.rawValue, synced.name.data, inode.rawValue]
        ).map { InodeNumber(rawValue: $0) }
    }

    /// One of the inodes that may have got a name on the remote below a directory.
    func firstAttemptingChild(of parent: InodeNumber) throws -> InodeNumber? {
        let statement = try cachedStatement(
            sql: "SELECT inode FROM attempts WHERE parent = ? LIMIT 1")
        return try Int64.fetchOne(statement, arguments: [parent.rawValue])
            .map { InodeNumber(rawValue: $0) }
    }

    func setAttempt(_ attempt: AttemptRecord, of inode: InodeNumber) throws {
        try cachedStatement(
            sql: "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        ).execute(arguments: [
            inode.rawValue, attempt.parent.rawValue, attempt.name.data, attempt.size.stored,
            attempt.mode, attempt.modified.nanoseconds, attempt.generation,
            attempt.replaced?.rawValue, attempt.digest.map { Data($0.bytes) },
            attempt.extendedAttributes.data,
        ])
    }

    func removeAttempt(of inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM attempts WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
    }

    /// Where it is unknown where on the remote an inode is, the one that may have moved: itself, or
    /// a directory above it.
    func uncertainInode(atOrAbove inode: InodeNumber) throws -> InodeNumber? {
        var current = inode
        while current != .root {
            if try attempt(of: current) != nil { return current }
            guard let synced = try synced(current) else { return nil }
            current = synced.parent
        }
        return nil
    }

    /// Where an object is if a move that has not ended has taken it along already: its own, or that
    /// of a directory above it. nil where there is none.
    func remoteKeyAhead(of inode: InodeNumber) throws -> ObjectKey? {
        guard let moved = try uncertainInode(atOrAbove: inode),
            let attempt = try attempt(of: moved),
            let key = try remoteKey(of: inode), let former = try remoteKey(of: moved),
            let place = try remoteKey(of: attempt.parent)?.appending(attempt.name),
            place != former
        else { return nil }
        return ObjectKey(place.names + key.names.dropFirst(former.names.count))
    }

    /// All of them, and those that they wait for: a look for one that may have moved begins with
    /// the directories above its places.
    func uncertainInodes(atOrAbove inode: InodeNumber) throws -> Set<InodeNumber> {
        var found: Set<InodeNumber> = []
        var open = [inode]
        while let current = open.popLast() {
            guard let uncertain = try uncertainInode(atOrAbove: current),
                found.insert(uncertain).inserted, let attempt = try attempt(of: uncertain)
            else { continue }
            open.append(attempt.parent)
            if let synced = try synced(uncertain) { open.append(synced.parent) }
        }
        return found
    }
}

extension AttemptRecord {
    fileprivate init(_ row: Row) {
        parent = InodeNumber(rawValue: row[0])
        name = FileName(stored: [UInt8](row[1] as Data))
        size = UInt64(stored: row[2])
        mode = row[3]
        modified = Timestamp(nanoseconds: row[4])
        generation = row[5]
        replaced = (row[6] as Int64?).map { InodeNumber(rawValue: $0) }
        digest = (row[7] as Data?).map { ContentDigest(bytes: [UInt8]($0)) }
        extendedAttributes = ExtendedAttributes(stored: row[8])
    }
}
