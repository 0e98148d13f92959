import GRDB

// Values that no version of Apus writes: the engine trusts what it reads.

extension CheckRun {
    /// A column, and what must hold of it.
    private struct Column {
        var name: String
        /// SQL that is true of a value that cannot be.
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

        /// Whether a value is what ``ExtendedAttributes/encoded`` makes.
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

    /// The columns of `inodes`, and what takes the place of a bad value.
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
        // What was being written tells by its length how much there is; else the length says nothing.
        (
            .integer("presence", in: 0...2),
            "CASE WHEN kind = 0 AND writing = 1 THEN 2 ELSE 0 END"
        ),
        // Taken for changed, if there is anything: what is sent needlessly does no harm.
        (
            .integer("generation", in: sizes),
            """
            coalesce((SELECT generation FROM synced WHERE inode = inodes.id), 0) + (presence > 0)
            """
        ),
        (.integer("writing", in: 0...1), "0"),
        (.integer("listed", in: 0...1), "0"),
        (.integer("accessed"), "0"),
        (.integer("detailed", in: 0...1), "0"),
        (.integer("made_here", in: 0...1), "0"),
    ]

    /// The other tables: a row that makes no sense goes, and what it said is found out anew.
    private static let otherColumns: [(table: String, kind: CheckFinding.Kind, [Column])] = [
        ("dirents", .name, [.integer("parent"), .name("name"), .integer("inode")]),
        (
            "synced", .synced,
            [
                .integer("parent"), .name("name"), .text("etag"), .integer("size", in: sizes),
                .integer("mode", in: modes), .integer("modified"), .integer("generation"),
                .extendedAttributes("xattrs"), .integer("written", orNull: true),
                .bytes("former"),
            ]
        ),
        (
            "remote", .remote,
            [
                .integer("gone", in: 0...1), .integer("kind", in: 0...2), .text("etag"),
                .integer("size", in: sizes), .integer("modified"),
                .integer("mode", in: modes, orNull: true), .bytes("target"),
                .integer("held", in: 0...1), .extendedAttributes("xattrs", orNull: true),
            ]
        ),
        (
            "pending", .pending,
            [
                .integer("since"), .integer("attempts", in: owners), .text("what"), .text("why"),
                .text("remedy"), .integer("final", in: 0...1, orNull: true), .text("kind"),
                .integer("told", in: 0...1),
            ]
        ),
        ("conflicts", .conflict, [.name("original"), .integer("since")]),
        ("discarded", .content, [.name("name"), .integer("time")]),
        (
            "uploads", .attempt,
            [
                .integer("generation"), .bytes("key"), .text("base"), .text("token"),
                Column(name: "key", isBad: "key IS NULL OR token IS NULL"),
            ]
        ),
        (
            "attempts", .attempt,
            [
                .integer("parent"), .name("name"), .integer("size", in: sizes),
                .integer("mode", in: modes), .integer("modified"), .integer("generation"),
                .integer("replaced", orNull: true), .bytes("digest"),
                .extendedAttributes("xattrs"),
            ]
        ),
    ]

    func checkValues() throws {
        for (column, substitute) in Self.inodeColumns {
            try checkInodes(column, substitute)
        }
        database.add(function: Column.isEncoded)
        defer { database.remove(function: Column.isEncoded) }
        for (table, kind, columns) in Self.otherColumns {
            let isBad = columns.map(\.isBad).joined(separator: " OR ")
            let key = table == "dirents" ? "cookie" : "inode"
            try forEach(
                "SELECT \(key) FROM \(table) WHERE \(key) > :last AND (\(isBad)) ORDER BY \(key)"
            ) { row in
                let number: Int64 = row[0]
                let inode = table == "dirents" ? nil : InodeNumber(rawValue: number)
                try database.execute(
                    sql: "DELETE FROM \(table) WHERE \(key) = ?", arguments: [number])
                try tell(
                    kind, inode, "a row of \(table) makes no sense",
                    repair: "the row is removed; what it said is found out anew")
            }
        }
        try checkExtendedAttributes()
        try checkDurability()
    }

    /// Whether bytes are on the disk. Those of which that is not known are put there by the next
    /// mount; what only we have is kept in any case.
    private func checkDurability() throws {
        let columns: [Column] = [.integer("state", in: 0...2), .integer("kept", in: 0...1)]
        let isBad = columns.map(\.isBad).joined(separator: " OR ")
        try forEach("SELECT inode FROM unsynced WHERE inode > :last AND (\(isBad)) ORDER BY inode")
        {
            row in
            let inode = InodeNumber(rawValue: row[0])
            let isOurs = try database.inode(inode).map { try isChanged($0) } ?? false
            try database.execute(
                sql: "UPDATE unsynced SET state = 0, kept = ? WHERE inode = ?",
                arguments: [isOurs, inode.rawValue])
            try tell(
                .content, inode, "whether its bytes are on the disk makes no sense",
                repair: "they count as not there yet")
        }
    }

    private func checkExtendedAttributes() throws {
        let isBad = Column.extendedAttributes("attributes").isBad
        try forEach(
            "SELECT inode FROM xattrs WHERE inode > :last AND \(isBad) ORDER BY inode"
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            let synced = try database.synced(inode)
            try database.setExtendedAttributes(
                synced?.extendedAttributes ?? ExtendedAttributes(), of: inode)
            try tell(
                .value, inode, "its extended attributes make no sense",
                repair: "it has those that the remote has",
                loss: synced == nil ? "those of a file that the remote never had" : nil)
        }
    }

    private func checkInodes(_ column: Column, _ substitute: String) throws {
        try forEach("SELECT id FROM inodes WHERE id > :last AND \(column.isBad) ORDER BY id") {
            row in
            let number: Int64 = row[0]
            let all: [String: (any DatabaseValueConvertible)?] = [
                "uid": owner.userID, "gid": owner.groupID, "now": now.nanoseconds,
            ]
            let used = all.filter { substitute == ":\($0.key)" }
            try database.execute(
                sql: "UPDATE inodes SET \(column.name) = \(substitute) WHERE id = :id",
                arguments: StatementArguments(used) + ["id": number])
            report.add(
                CheckFinding(
                    .value, isDryRun ? .repairable : .repaired,
                    inode: InodeNumber(rawValue: number),
                    what: "its \(column.name) makes no sense", repair: "it gets a likely one"))
        }
    }

    /// The root, which is above everything and in nothing.
    func checkRoot() throws {
        guard var root = try database.inode(.root) else {
            // Where nothing was ever stored nothing is missing.
            let isNew = try !hasRow("inodes", [])
            try insertDirectory(.root, links: 2)
            if isNew { return }
            return try tell(.root, .root, "the root is missing", repair: "it is made anew")
        }
        if root.kind != .directory || root.links == 0 {
            root.links = max(2, root.links)
            try database.execute(sql: "UPDATE inodes SET kind = 1, target = NULL WHERE id = 1")
            try database.update(root)
            try tell(.root, .root, "the root is no directory", repair: "it is one again")
        }
        for (table, condition) in [("dirents", "inode = 1"), ("synced", "inode = 1")]
        where try hasRow("\(table) WHERE \(condition)", []) {
            try database.execute(sql: "DELETE FROM \(table) WHERE \(condition)")
            try tell(
                .root, .root, "the root has a name of its own in \(table)",
                repair: "the name is removed")
        }
    }

    /// Stores a directory under a number that is known from elsewhere.
    func insertDirectory(_ inode: InodeNumber, links: Int) throws {
        try database.execute(
            sql: """
                INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                    presence, generation, writing, listed, accessed)
                VALUES (?, 1, 493, ?, ?, ?, 0, ?, ?, 0, 0, 0, 0, ?)
                """,
            arguments: [
                inode.rawValue, owner.userID, owner.groupID, links, now.nanoseconds,
                now.nanoseconds, now.nanoseconds,
            ])
    }
}
