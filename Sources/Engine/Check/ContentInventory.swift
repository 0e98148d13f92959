import GRDB

/// Records the length of each content file, for the steps that follow, and moves away other files.
struct ContentInventory: CheckStep {
    let context: CheckContext

    func run() throws {
        let paths = try context.files.list(StateFiles.contentFolder)
        context.report.contentFiles = paths.count
        for (index, path) in paths.enumerated() {
            if index % 256 == 0 { context.show("content files", done: index, of: paths.count) }
            let size = try context.files.size(of: path)
            if let inode = StateFiles.inode(ofContentAt: path) {
                try database.run(
                    "INSERT OR REPLACE INTO check_content VALUES (?, ?)", [inode, size.stored])
            } else {
                let place = try context.files.moveToLost(path)
                try context.tell(
                    .stray, path: path.description, "it is not at the path of a content file",
                    repair: "it is moved to \(place)")
            }
        }
    }
}

/// Moves away content files that do not belong to a file.
///
/// Those of unlinked or evicted files are leftovers of a killed process; the engine removes them. Those of
/// an interrupted restore go back to the trash at the next start.
struct StrayCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try context.forEach(
            "inode, size", of: "check_content",
            where: """
                size > 0 AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0)
                AND NOT EXISTS (SELECT 1 FROM trash WHERE restored = check_content.inode)
                """
        ) { inode, row in
            let old = try context.describe(inode)
            let place = try context.files.moveToLost(
                StateFiles.content(of: inode), inode: inode, was: old)
            try context.tell(
                .stray, inode, path: old, "\(row[1] as Int64) bytes belong to no file",
                repair: "they are in \(place)")
        }
    }
}
