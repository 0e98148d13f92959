import GRDB

/// Corrects link counts.
struct LinkCountCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        let names = "(SELECT count(*) FROM dirents WHERE inode = inodes.id)"
        let counted = """
            CASE kind WHEN 1 THEN 2 + (
                SELECT count(*) FROM dirents JOIN inodes AS child ON child.id = dirents.inode
                WHERE dirents.parent = inodes.id AND child.kind = 1)
            ELSE \(names) END
            """
        try context.forEach(
            "id, links, \(counted)", of: "inodes",
            where: "(id = 1 OR \(names) > 0) AND links <> \(counted)"
        ) { inode, row in
            let (links, counted): (Int64, Int64) = (row[1], row[2])
            try database.run("UPDATE inodes SET links = ? WHERE id = ?", [counted, inode])
            try context.tell(
                .links, inode, "its link count is \(links)", repair: "it is set to \(counted)")
        }
    }
}
