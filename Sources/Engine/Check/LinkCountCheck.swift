import GRDB

/// Corrects link counts.
struct LinkCountCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        let names = "(SELECT count(*) FROM dirents WHERE inode = inodes.id)"
        let folders = """
            (SELECT count(*) FROM dirents JOIN inodes AS child ON child.id = dirents.inode
                WHERE dirents.parent = inodes.id AND child.kind = 1)
            """
        try context.forEach(
            """
            SELECT id, links, counted FROM (
                SELECT id, links, CASE kind WHEN 1 THEN 2 + \(folders) ELSE \(names) END AS counted
                FROM inodes WHERE id > :last AND (id = 1 OR \(names) > 0)
            ) WHERE links <> counted ORDER BY id
            """
        ) { row in
            let inode: InodeNumber = row[0]
            let (links, counted): (Int64, Int64) = (row[1], row[2])
            try context.database.execute(
                sql: "UPDATE inodes SET links = ? WHERE id = ?",
                arguments: [counted, inode])
            try context.tell(
                .links, inode, "its link count is \(links)", repair: "it is set to \(counted)")
        }
    }
}
