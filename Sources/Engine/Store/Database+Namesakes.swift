import Foundation
import GRDB

// The index of names by their keys, see ``NameMatching``. It is empty if the remote tells all names
// apart, and costs nothing then: its triggers exist only on the writer's connection, if needed.

/// A name that the remote takes for another one.
struct Namesake: Hashable {
    enum Side: Int64 {
        /// A local name.
        case local
        /// A name on the remote, as agreed.
        case agreed
        /// A name on the remote that an operation with an unknown outcome may have made.
        case intended
    }

    var side: Side
    var inode: InodeNumber
    var name: FileName
}

extension Database {
    /// Returns the inodes whose names the remote takes for this one, equal ones included; none if
    /// it tells all names apart.
    func namesakes(of name: FileName, in parent: InodeNumber) throws -> [Namesake] {
        try rows(
            """
            SELECT side, inode, name FROM folded_names
            WHERE parent = ?1 AND key = folded_name(?2) AND (side <> \(Namesake.Side.intended.rawValue)
                OR EXISTS (SELECT 1 FROM intents WHERE intents.inode = folded_names.inode
                    AND intents.parent = ?1 AND intents.name = folded_names.name))
            ORDER BY inode
            """, [parent, name]
        ) { row in
            guard let side = Namesake.Side(rawValue: row[0]) else {
                preconditionFailure("a name is indexed as \(row[0] as Int64)")
            }
            return Namesake(side: side, inode: row[1], name: row[2])
        }
    }

    /// Returns the first of the inodes on one side whose names the remote takes for this one,
    /// except one.
    func namesake(
        of name: FileName, in parent: InodeNumber, on side: Namesake.Side,
        except inode: InodeNumber? = nil
    ) throws -> InodeNumber? {
        try namesakes(of: name, in: parent).first { $0.side == side && $0.inode != inode }?.inode
    }

    /// Returns the inode that has a name on the remote, or another one that the remote takes for
    /// it.
    func remoteHolder(
        of name: FileName, in parent: InodeNumber, except inode: InodeNumber
    ) throws -> InodeNumber? {
        if let holder = try syncedInode(name, in: parent) { return holder }
        guard try hasRow("folded_names") else { return nil }
        return try namesake(of: name, in: parent, on: .agreed, except: inode)
    }

    // MARK: The index

    /// Makes the index follow a kind of matching, from the first transaction of a process on.
    ///
    /// - Returns: The inodes that an earlier process has kept apart although the remote takes their
    ///   names for one: all but one of each name.
    func setNameMatching(_ matching: NameMatching) throws -> [InodeNumber] {
        guard matching.isFolding else {
            for table in FoldedTable.all { try execute(sql: table.removingTriggers) }
            try execute(sql: FoldedTable.removingWaking)
            // With rows of another kind of matching, inodes would be compared that differ.
            if try hasRow("folded_names") { try run("DELETE FROM folded_names") }
            return []
        }
        add(function: NameMatching.function { matching })
        for table in FoldedTable.all { try execute(sql: table.triggers) }
        try execute(sql: FoldedTable.waking)
        let mark = Data("\(matching.rawValue) 1".utf8)
        if try hasRow("folded_names WHERE \(Self.mark) AND key = ?", [mark]) { return [] }
        try run("DELETE FROM folded_names")
        for table in FoldedTable.all { try execute(sql: table.filling) }
        try run("INSERT INTO folded_names VALUES (0, ?, -1, 0, x'')", [mark])
        return try values(
            """
            SELECT inode FROM folded_names AS later WHERE side = \(Namesake.Side.agreed.rawValue)
            AND EXISTS (SELECT 1 FROM folded_names AS first WHERE first.parent = later.parent
                AND first.key = later.key AND first.side = later.side AND first.inode < later.inode)
            ORDER BY inode
            """)
    }

    /// Returns the kind of matching that a look at the remote has shown.
    func knownNames() throws -> NameMatching? {
        let text: String? = try value("SELECT value FROM settings WHERE key = 'names'")
        return text.flatMap(NameMatching.init(rawValue:))
    }

    func setKnownNames(_ matching: NameMatching) throws {
        try run("INSERT OR REPLACE INTO settings VALUES ('names', ?)", [matching.rawValue])
    }

    /// Lets the next process make the index again, after changes without its triggers.
    func forgetNamesakes() throws {
        try run("DELETE FROM folded_names WHERE \(Self.mark)")
    }

    /// The row that tells for which kind of matching the index was made.
    private static let mark = "parent = 0 AND side = -1"
}

extension NameMatching {
    /// `folded_name(name)` in SQL.
    static func function(_ matching: @escaping @Sendable () -> NameMatching) -> DatabaseFunction {
        DatabaseFunction("folded_name", argumentCount: 1, pure: true) { values in
            Data.fromDatabaseValue(values[0]).map { data in
                Data(matching().key(of: FileName(stored: [UInt8](data))).bytes)
            }
        }
    }
}

/// A table whose names are in the index.
private struct FoldedTable {
    let name: String
    let side: Namesake.Side

    static let all = [
        FoldedTable(name: "dirents", side: .local), FoldedTable(name: "synced", side: .agreed),
        FoldedTable(name: "intents", side: .intended),
    ]

    /// Temporary, since other programs that change the database do not have the function.
    var triggers: String {
        """
        CREATE TEMP TRIGGER IF NOT EXISTS folded_\(name)_added AFTER INSERT ON main.\(name) BEGIN
            \(addition);
        END;
        CREATE TEMP TRIGGER IF NOT EXISTS folded_\(name)_removed AFTER DELETE ON main.\(name) BEGIN
            \(removal);
        END;
        CREATE TEMP TRIGGER IF NOT EXISTS folded_\(name)_changed
        AFTER UPDATE OF parent, name, inode ON main.\(name)
        WHEN OLD.parent <> NEW.parent OR OLD.name <> NEW.name OR OLD.inode <> NEW.inode BEGIN
            \(removal);
            \(addition);
        END;
        """
    }

    var removingTriggers: String {
        ["added", "removed", "changed"]
            .map { "DROP TRIGGER IF EXISTS temp.folded_\(name)_\($0);" }.joined()
    }

    /// Names that wait for another one are planned again once that is free.
    static let waking = """
        CREATE TEMP TRIGGER IF NOT EXISTS folded_name_freed AFTER DELETE ON main.folded_names
        WHEN OLD.side IN (\(Namesake.Side.local.rawValue), \(Namesake.Side.agreed.rawValue)) BEGIN
            UPDATE pending SET due = 0
            WHERE due > 0 AND blocked_by IS NULL AND inode IN (
                SELECT inode FROM folded_names WHERE parent = OLD.parent AND key = OLD.key
                AND side = \(Namesake.Side.local.rawValue) AND inode <> OLD.inode);
        END;
        """

    static let removingWaking = "DROP TRIGGER IF EXISTS temp.folded_name_freed"

    var filling: String {
        """
        INSERT INTO folded_names
            SELECT parent, folded_name(name), \(side.rawValue), inode, name FROM \(name)
        """
    }

    private var addition: String {
        """
        INSERT OR REPLACE INTO folded_names
            VALUES (NEW.parent, folded_name(NEW.name), \(side.rawValue), NEW.inode, NEW.name)
        """
    }

    private var removal: String {
        """
        DELETE FROM folded_names WHERE parent = OLD.parent AND key = folded_name(OLD.name)
            AND side = \(side.rawValue) AND inode = OLD.inode
        """
    }
}
