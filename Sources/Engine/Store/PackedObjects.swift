import Foundation
import GRDB

/// New objects as arguments of a few statements that store all of them: to bind the columns of each row
/// would take longer than to insert it.
///
/// As in ``PackedNames``, a statement reads them from `json_each(:places) AS page`. The value of a row is
/// the place of the object in a blob, with numbers as decimal text of fixed width.
struct PackedObjects {
    /// The objects of a listing without the parts that few have.
    static func canPack(_ object: RemoteObject) -> Bool {
        object.kind != .symlink && object.target == nil
            && object.extendedAttributes?.isEmpty != false
            && (object.etag?.description.utf8.count ?? 0) < 99_999
    }

    private static let headBytes = 76
    private static let nameBytes = number(at: 0, width: 3)
    private static let etagEnd = number(at: 3, width: 5)

    // In SQL, the columns of a row of `page`. Its `key` is the index of the object.
    static let kind = number(at: 8, width: 1)
    static let hasMetadata = number(at: 9, width: 1)
    static let mode = number(at: 10, width: 5)
    static let size = number(at: 15, width: 20)
    static let modified = number(at: 35, width: 20)
    static let remoteModified = """
        iif(\(number(at: 55, width: 1)), \(number(at: 56, width: 20)), NULL)
        """
    static let name = "substr(:bytes, page.value + \(headBytes), \(nameBytes))"
    static let etag = """
        iif(\(etagEnd), CAST(substr(
            :bytes, page.value + \(headBytes) + \(nameBytes), \(etagEnd) - 1) AS TEXT), NULL)
        """

    private static func number(at offset: Int, width: Int) -> String {
        "CAST(substr(:bytes, page.value + \(offset), \(width)) AS INTEGER)"
    }

    private var places = [UInt8(ascii: "[")]
    private var bytes: [UInt8] = []
    private(set) var count = 0

    /// - Parameter capacity: The expected number of objects.
    init(capacity: Int) {
        bytes.reserveCapacity(capacity * (Self.headBytes + 64))
        places.reserveCapacity(capacity * 8)
    }

    /// - Parameters:
    ///   - object: One that ``canPack(_:)``.
    ///   - mode: That of the new inode.
    ///   - remoteModified: See ``RemoteObject/remoteModified``.
    mutating func append(_ object: RemoteObject, mode: UInt16, remoteModified: Timestamp?) {
        count += 1
        if !bytes.isEmpty { places.append(UInt8(ascii: ",")) }
        // SQLite counts from 1.
        places.append(decimal: Int64(bytes.count + 1))
        let etag = object.etag?.description.utf8
        append(Int64(object.name.bytes.count), width: 3)
        append(etag.map { Int64($0.count) + 1 } ?? 0, width: 5)
        append(Int64(object.kind.rawValue), width: 1)
        append(object.hasMetadata ? 1 : 0, width: 1)
        append(Int64(mode), width: 5)
        append(object.size.stored, width: 20)
        append(object.modified.nanoseconds, width: 20)
        append(remoteModified == nil ? 0 : 1, width: 1)
        append(remoteModified?.nanoseconds ?? 0, width: 20)
        bytes += object.name.bytes
        if let etag { bytes += etag }
    }

    private mutating func append(_ number: Int64, width: Int) {
        bytes.append(decimal: number, width: width)
    }

    /// The arguments of these objects, and others.
    func arguments(_ others: Arguments = [:]) -> Arguments {
        others + ["places": String(decoding: places, as: UTF8.self) + "]", "bytes": Data(bytes)]
    }
}

extension Database {
    /// Stores new inodes for objects in agreement with the remote, without local names.
    ///
    /// - Returns: The number of the first. The others follow it.
    func insertInodes(
        _ objects: PackedObjects, in parent: InodeNumber, owner: Caller, at now: Timestamp
    ) throws -> InodeNumber {
        try run(
            """
            INSERT INTO inodes (kind, mode, uid, gid, links, size, modified, changed, presence,
                generation, writing, listed, accessed, has_metadata)
            SELECT \(PackedObjects.kind), \(PackedObjects.mode), :uid, :gid,
                1 + (\(PackedObjects.kind) = \(FileKind.directory.rawValue)),
                \(PackedObjects.size), \(PackedObjects.modified), :now,
                \(Presence.remote.rawValue), 0, 0, 0, :minute, \(PackedObjects.hasMetadata)
            FROM json_each(:places) AS page
            """,
            objects.arguments([
                "uid": owner.userID, "gid": owner.groupID, "now": now, "minute": now.wholeMinute,
            ]))
        // SQLite numbers them in ascending order, and there is no other writer.
        let first = InodeNumber(rawValue: lastInsertedRowID - Int64(objects.count) + 1)
        try run(
            """
            INSERT INTO synced (inode, parent, name, etag, size, mode, modified, generation, xattrs,
                remote_modified)
            SELECT :first + page.key, :parent, \(PackedObjects.name), \(PackedObjects.etag),
                \(PackedObjects.size), \(PackedObjects.mode), \(PackedObjects.modified), 0, x'',
                \(PackedObjects.remoteModified)
            FROM json_each(:places) AS page
            """, objects.arguments(["first": first, "parent": parent]))
        return first
    }
}
