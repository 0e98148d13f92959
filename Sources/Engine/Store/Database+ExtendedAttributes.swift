import Foundation
import GRDB

// Rows of `xattrs`: the extended attributes that inodes have here. Nobody who does not ask for them
// reads them.

extension Database {
    func extendedAttributes(of inode: InodeNumber) throws -> ExtendedAttributes {
        let statement = try cachedStatement(
            sql: "SELECT attributes FROM xattrs WHERE inode = ?")
        return ExtendedAttributes(
            stored: try Data.fetchOne(statement, arguments: [inode.rawValue]))
    }

    func setExtendedAttributes(
        _ attributes: ExtendedAttributes, of inode: InodeNumber
    ) throws {
        if attributes.isEmpty {
            try cachedStatement(sql: "DELETE FROM xattrs WHERE inode = ?")
                .execute(arguments: [inode.rawValue])
        } else {
            try cachedStatement(sql: "INSERT OR REPLACE INTO xattrs VALUES (?, ?)")
                .execute(arguments: [inode.rawValue, attributes.data])
        }
    }

    /// Brings what the remote has to what is here: what was changed here since `base` stays changed.
    ///
    /// - Parameter remote: nil where the remote does not tell.
    /// - Returns: What both sides agree on from now on.
    func adopt(
        _ remote: ExtendedAttributes?, of inode: InodeNumber, since base: ExtendedAttributes
    ) throws -> ExtendedAttributes {
        guard let remote, remote != base else { return base }
        let ours = try extendedAttributes(of: inode)
        try setExtendedAttributes(ours.rebased(from: base, onto: remote), of: inode)
        return remote
    }
}

extension ExtendedAttributes {
    /// - Parameter data: nil for none; `apus check` has seen to it that it makes sense.
    init(stored data: Data?) {
        self = data.flatMap { ExtendedAttributes(encoded: $0) } ?? ExtendedAttributes()
    }

    /// As it is stored.
    var data: Data { Data(encoded) }
}
