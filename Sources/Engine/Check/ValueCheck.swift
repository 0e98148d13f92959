import GRDB

/// Replaces invalid values, since the engine relies on the values that it reads.
struct ValueCheck: CheckStep {
    let context: CheckContext

    /// A column and its valid values.
    private struct Column {
        var name: String
        /// SQL that is true for an invalid value.
        var isBad: String

        static func integer(
            _ name: String, in range: ClosedRange<Int64> = .min ... .max, orNull: Bool = false
        ) -> Column {
            let isOther = "typeof(\(name)) <> 'integer'" + (orNull ? " AND \(name) NOT NULL" : "")
            return Column(
                name: name,
                isBad: "(\(isOther) OR "
                    + "\(name) NOT BETWEEN \(range.lowerBound) AND \(range.upperBound))")
        }

        static func name(_ name: String) -> Column {
            Column(
                name: name,
                isBad: """
                    (typeof(\(name)) <> 'blob' OR length(\(name)) NOT BETWEEN 1 AND 255
                    OR \(name) IN (x'2e', x'2e2e') OR instr(\(name), x'2f') OR instr(\(name), x'00'))
                    """)
        }

        static func text(_ name: String) -> Column {
            Column(name: name, isBad: "typeof(\(name)) NOT IN ('text', 'null')")
        }

        static func bytes(_ name: String) -> Column {
            Column(name: name, isBad: "typeof(\(name)) NOT IN ('blob', 'null')")
        }

        static func extendedAttributes(_ name: String, orNull: Bool = false) -> Column {
            Column(
                name: name,
                isBad: "NOT \(isEncoded.name)(\(name))" + (orNull ? " AND \(name) NOT NULL" : ""))
        }

        /// Whether a value can be decoded by ``ExtendedAttributes/init(encoded:)``.
        static let isEncoded = DatabaseFunction(
            "is_encoded_attributes", argumentCount: 1, pure: true
        ) { values in
            guard case .blob(let data) = values[0].storage else { return false }
            return ExtendedAttributes(encoded: data) != nil
        }
    }

    private static let sizes: ClosedRange<Int64> = 0 ... .max
    private static let modes: ClosedRange<Int64> = 0...0o7777
    private static let owners: ClosedRange<Int64> = 0...Int64(UInt32.max)

    /// The columns of `inodes`, each with a substitute for invalid values.
    private static let inodeColumns: [(column: Column, substitute: String)] = [
        (
            .integer("kind", in: 0...2),
            """
            CASE WHEN EXISTS (SELECT 1 FROM dirents WHERE parent = inodes.id) THEN 1
            WHEN target NOT NULL THEN 2 ELSE 0 END
            """
        ),
        (.integer("mode", in: modes), "CASE kind WHEN 0 THEN 420 WHEN 1 THEN 493 ELSE 511 END"),
        (.integer("uid", in: owners), ":uid"),
        (.integer("gid", in: owners), ":gid"),
        (.integer("links", in: owners), "1"),
        (
            .integer("size", in: sizes),
            "coalesce((SELECT size FROM synced WHERE inode = inodes.id), 0)"
        ),
        (.integer("modified"), ":now"),
        (.integer("changed"), ":now"),
        (.bytes("target"), "CAST(target AS BLOB)"),
        // The length shows that the bytes are local only for a file that was being written.
        (
            .integer("presence", in: 0...2),
            "CASE WHEN kind = 0 AND writing = 1 THEN 2 ELSE 0 END"
        ),
        // A file with local bytes counts as changed: a needless upload does no harm.
        (
            .integer("generation", in: sizes),
            """
            coalesce((SELECT generation FROM synced WHERE inode = inodes.id), 0) + (presence > 0)
            """
        ),
        (.integer("writing", in: 0...1), "0"),
        (.integer("listed", in: 0...1), "0"),
        (.integer("accessed"), "0"),
        (.integer("has_metadata", in: 0...1), "0"),
        (.integer("made_here", in: 0...1), "0"),
    ]

    /// The other tables: invalid rows are removed, and their contents are determined again.
    private static let otherColumns: [(table: String, kind: CheckFinding.Kind, [Column])] = [
        ("dirents", .name, [.integer("parent"), .name("name"), .integer("inode")]),
        (
            "synced", .synced,
            [
                .integer("parent"), .name("name"), .text("etag"), .integer("size", in: sizes),
                .integer("mode", in: modes), .integer("modified"), .integer("generation"),
                .extendedAttributes("xattrs"), .integer("remote_modified", orNull: true),
                .bytes("path_before_move"),
            ]
        ),
        (
            "remote", .remote,
            [
                .integer("gone", in: 0...1), .integer("kind", in: 0...2), .text("etag"),
                .integer("size", in: sizes), .integer("modified"),
                .integer("mode", in: modes, orNull: true), .bytes("target"),
                .integer("held", in: 0...1), .integer("has_metadata", in: 0...1),
                .extendedAttributes("xattrs", orNull: true),
            ]
        ),
        (
            "pending", .pending,
            [
                .integer("since"), .integer("attempts", in: owners), .text("what"), .text("why"),
                .text("remedy"), .integer("final", in: 0...1, orNull: true), .text("kind"),
                .integer("reported", in: 0...1), .integer("due", orNull: true),
                .integer("due_max"), .integer("blocked_by", orNull: true),
            ]
        ),
        ("conflicts", .conflict, [.name("original"), .integer("since")]),
        ("discarded", .content, [.name("name"), .integer("time")]),
        (
            "uploads", .intent,
            [
                .integer("generation"), .bytes("key"), .text("base"), .text("token"),
                Column(name: "key", isBad: "key IS NULL OR token IS NULL"),
            ]
        ),
        (
            "intents", .intent,
            [
                .integer("parent"), .name("name"), .integer("size", in: sizes),
                .integer("mode", in: modes), .integer("modified"), .integer("generation"),
                .integer("replaced", orNull: true), .bytes("digest"),
                .extendedAttributes("xattrs"),
            ]
        ),
    ]

    func run() throws {
        for (column, substitute) in Self.inodeColumns {
            try checkInodes(column, substitute)
        }
        context.database.add(function: Column.isEncoded)
        defer { context.database.remove(function: Column.isEncoded) }
        for (table, kind, columns) in Self.otherColumns {
            let isBad = columns.map(\.isBad).joined(separator: " OR ")
            let key = table == "dirents" ? "cookie" : "inode"
            try context.forEach(
                "SELECT \(key) FROM \(table) WHERE \(key) > :last AND (\(isBad)) ORDER BY \(key)"
            ) { row in
                let number: Int64 = row[0]
                let inode = table == "dirents" ? nil : InodeNumber(rawValue: number)
                try context.database.execute(
                    sql: "DELETE FROM \(table) WHERE \(key) = ?", arguments: [number])
                try context.tell(
                    kind, inode, "a row of \(table) is invalid",
                    repair: "the row is removed, and its contents are determined again")
            }
        }
        try checkExtendedAttributes()
        try checkDurability()
    }

    /// Repairs the record of bytes that may not be on the disk yet. The next mount syncs them; local
    /// changes are marked to be kept in any case.
    private func checkDurability() throws {
        let columns: [Column] = [.integer("state", in: 0...2), .integer("fsynced", in: 0...1)]
        let isBad = columns.map(\.isBad).joined(separator: " OR ")
        try context.forEach(
            "SELECT inode FROM unsynced WHERE inode > :last AND (\(isBad)) ORDER BY inode"
        ) {
            row in
            let inode: InodeNumber = row[0]
            let isOurs =
                try context.database.inode(inode).map { try context.isChanged($0) } ?? false
            try context.database.execute(
                sql: "UPDATE unsynced SET state = 0, fsynced = ? WHERE inode = ?",
                arguments: [isOurs, inode])
            try context.tell(
                .content, inode, "the record of its durability is invalid",
                repair: "its bytes count as not on the disk yet")
        }
    }

    private func checkExtendedAttributes() throws {
        let isBad = Column.extendedAttributes("attributes").isBad
        try context.forEach(
            "SELECT inode FROM xattrs WHERE inode > :last AND \(isBad) ORDER BY inode"
        ) { row in
            let inode: InodeNumber = row[0]
            let synced = try context.database.synced(inode)
            try context.database.setExtendedAttributes(
                synced?.extendedAttributes ?? ExtendedAttributes(), of: inode)
            try context.tell(
                .value, inode, "its extended attributes are invalid",
                repair: "they are replaced by those of the remote",
                loss: synced == nil ? "those of a file that was never uploaded" : nil)
        }
    }

    private func checkInodes(_ column: Column, _ substitute: String) throws {
        try context.forEach(
            "SELECT id FROM inodes WHERE id > :last AND \(column.isBad) ORDER BY id"
        ) { row in
            let number: Int64 = row[0]
            let all: [String: (any DatabaseValueConvertible)?] = [
                "uid": context.owner.userID, "gid": context.owner.groupID,
                "now": context.now.nanoseconds,
            ]
            let used = all.filter { substitute == ":\($0.key)" }
            try context.database.execute(
                sql: "UPDATE inodes SET \(column.name) = \(substitute) WHERE id = :id",
                arguments: StatementArguments(used) + ["id": number])
            context.report.add(
                CheckFinding(
                    .value, context.isDryRun ? .repairable : .repaired,
                    inode: InodeNumber(rawValue: number),
                    what: "its \(column.name) is invalid",
                    repair: "it is replaced by a likely value"))
        }
    }
}
