import GRDB

/// Replaces invalid values, since the engine relies on the values that it reads.
///
/// A value is valid if it has the type that the schema declares for its column, is NULL only where
/// the schema permits it, and meets the rule for columns of that name.
struct ValueCheck: CheckStep {
    let context: CheckContext

    private static let ranges: [String: ClosedRange<Int64>] = [
        "kind": 0...2, "presence": 0...2, "state": 0...2, "mode": 0...0o7777, "size": 0 ... .max,
        "inodes.generation": 0 ... .max, "uid": 0...owners, "gid": 0...owners, "links": 0...owners,
        "attempts": 0...owners, "writing": 0...1, "listed": 0...1, "has_metadata": 0...1,
        "made_here": 0...1, "gone": 0...1, "held": 0...1, "final": 0...1, "reported": 0...1,
        "fsynced": 0...1, "unsynced.failed": 0...1, "unsynced.changed": 0...1,
        "unsynced.suspect": 0...1,
    ]
    private static let owners = Int64(UInt32.max)

    /// The columns of `inodes`, each with a substitute for invalid values.
    private static let substitutes: [(column: String, value: String)] = [
        (
            "kind",
            """
            CASE WHEN EXISTS (SELECT 1 FROM dirents WHERE parent = inodes.id) THEN 1
            WHEN target NOT NULL THEN 2 ELSE 0 END
            """
        ),
        ("mode", "CASE kind WHEN 0 THEN 420 WHEN 1 THEN 493 ELSE 511 END"),
        ("uid", ":uid"),
        ("gid", ":gid"),
        ("links", "1"),
        ("size", "coalesce((SELECT size FROM synced WHERE inode = inodes.id), 0)"),
        ("modified", ":now"),
        ("changed", ":now"),
        ("target", "CAST(target AS BLOB)"),
        // The length shows that the bytes are local only for a file that was being written.
        ("presence", "CASE WHEN kind = 0 AND writing = 1 THEN 2 ELSE 0 END"),
        // A file with local bytes counts as changed: a needless upload does no harm.
        (
            "generation",
            "coalesce((SELECT generation FROM synced WHERE inode = inodes.id), 0) + (presence > 0)"
        ),
        ("writing", "0"),
        ("listed", "0"),
        ("accessed", "0"),
        ("has_metadata", "0"),
        ("made_here", "0"),
    ]

    /// The tables whose invalid rows are removed; their contents are determined again.
    private static let otherTables: [(name: String, kind: CheckFinding.Kind)] = [
        ("dirents", .name), ("synced", .synced), ("remote", .remote), ("pending", .pending),
        ("conflicts", .conflict), ("discarded", .content), ("trash", .content),
        ("uploads", .intent), ("intents", .intent), ("copies", .synced),
    ]

    func run() throws {
        try checkInodes()
        for (table, kind) in Self.otherTables {
            try context.removeRows(
                of: table, where: isBad(table), kind, "is invalid",
                repair: "the row is removed, and its contents are determined again")
        }
        try checkExtendedAttributes()
        try checkDurability()
    }

    /// Repairs the record of bytes that may not be on the disk yet. The next mount syncs them; local
    /// changes are marked to be kept in any case.
    private func checkDurability() throws {
        try context.forEach("inode", of: "unsynced", where: isBad("unsynced")) { inode, _ in
            let isOurs = try database.inode(inode).map { try context.isChanged($0) } ?? false
            try database.run(
                """
                UPDATE unsynced SET state = 0, fsynced = ?, replaced = NULL, failed = (failed IS 1),
                    changed = 1, suspect = 1
                WHERE inode = ?
                """, [isOurs, inode])
            try context.tell(
                .content, inode, "the record of its durability is invalid",
                repair: "its bytes count as not on the disk yet")
        }
    }

    private func checkExtendedAttributes() throws {
        try context.forEach("inode", of: "xattrs", where: isBad("xattrs")) { inode, _ in
            let synced = try database.synced(inode)
            try database.setExtendedAttributes(
                synced?.extendedAttributes ?? ExtendedAttributes(), of: inode)
            try context.tell(
                .value, inode, "its extended attributes are invalid",
                repair: "they are replaced by those of the remote",
                loss: synced == nil ? "those of a file that was never uploaded" : nil)
        }
    }

    /// One scan finds whether any inode is damaged; only then is each column looked at.
    private func checkInodes() throws {
        let damaged: Int? = try database.value(
            "SELECT 1 FROM inodes WHERE \(isBad("inodes")) LIMIT 1")
        if damaged == nil { return }
        let faults = try faults(in: "inodes")
        for (column, value) in Self.substitutes {
            guard let fault = faults.first(where: { $0.column == column }) else { continue }
            try checkInodes(column, fault.isBad, value)
        }
    }

    private func checkInodes(_ column: String, _ isBad: String, _ substitute: String) throws {
        let all: [String: (any DatabaseValueConvertible)?] = [
            "uid": context.owner.userID, "gid": context.owner.groupID, "now": context.now,
        ]
        let used = Arguments(all.filter { substitute == ":\($0.key)" })
        try context.forEach("id", of: "inodes", where: isBad) { inode, _ in
            try database.run(
                "UPDATE inodes SET \(column) = \(substitute) WHERE id = :id", used + ["id": inode])
            context.report.add(
                CheckFinding(
                    .value, context.isDryRun ? .repairable : .repaired, inode: inode,
                    what: "its \(column) is invalid", repair: "it is replaced by a likely value"))
        }
    }

    // MARK: Rules

    /// Returns SQL that is true for a row with an invalid value.
    private func isBad(_ table: String) throws -> String {
        try faults(in: table).map(\.isBad).joined(separator: " OR ")
    }

    /// Returns SQL for each column, in the order of the schema, that is true for an invalid value.
    private func faults(in table: String) throws -> [(column: String, isBad: String)] {
        try database.columns(in: table).filter { $0.primaryKeyIndex == 0 }.map { column in
            let types = "'\(column.type.lowercased())'" + (column.isNotNull ? "" : ", 'null'")
            let isOther = "typeof(\(column.name)) NOT IN (\(types))"
            let rule = rule(of: column, in: table).map { " OR NOT (\($0))" } ?? ""
            return (column.name, "(\(isOther)\(rule))")
        }
    }

    /// Returns SQL that is true for a valid value other than NULL.
    private func rule(of column: ColumnInfo, in table: String) -> String? {
        let name = column.name
        switch (name, column.type) {
        case ("name", _), ("original", _):
            return """
                length(\(name)) BETWEEN 1 AND 255 AND \(name) NOT IN (x'2e', x'2e2e')
                AND NOT instr(\(name), x'2f') AND NOT instr(\(name), x'00')
                """
        case ("path", _):
            return "length(path) > 0 AND NOT instr(path, x'00') AND NOT instr(path, x'2f2f')"
        case ("xattrs", _), ("attributes", _):
            return "\(name) IS NULL OR \(Self.isEncoded.name)(\(name))"
        case (_, "INTEGER"):
            return (Self.ranges["\(table).\(name)"] ?? Self.ranges[name])
                .map { "\(name) BETWEEN \($0.lowerBound) AND \($0.upperBound)" }
        default:
            return nil
        }
    }

    /// Whether a value can be decoded by ``ExtendedAttributes/init(encoded:)``.
    static let isEncoded = DatabaseFunction(
        "is_encoded_attributes", argumentCount: 1, pure: true
    ) { values in
        guard case .blob(let data) = values[0].storage else { return false }
        return ExtendedAttributes(encoded: data) != nil
    }
}
