import GRDB

/// Removes leftovers of a killed process, and reports files that Apus did not make.
struct LeftoverCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try removeClones(in: StateFiles.frozenFolder)
        try removeClones(in: StateFiles.clonesFolder)
        let count: Int? = try database.value(
            "SELECT count(*) FROM inodes WHERE writing = 1 AND links > 0")
        if let count, count > 0 {
            context.note(
                .leftover, "\(count) files were open for writing when the process ended",
                repair: "the next mount recovers them")
        }
        for path in try context.files.list(DiskPath(""))
        where !StateFiles.isOurs(atPath: path.description) {
            context.note(.unknown, path: path, "not a file of Apus", repair: "it is left alone")
        }
    }

    private func removeClones(in folder: DiskPath) throws {
        var paths = try context.files.list(folder)
        let split = paths.partition { !StateFiles.isClone($0) }
        for path in paths[split...] {
            let place = try context.files.moveToLost(path)
            try context.tell(
                .stray, path: path.description, "it is not a clone of an upload",
                repair: "it is moved to \(place)")
        }
        paths.removeSubrange(split...)
        guard !paths.isEmpty else { return }
        for path in paths { try context.files.remove(path) }
        context.note(
            .leftover, path: folder, "\(paths.count) clones of interrupted uploads",
            repair: "they are removed")
    }
}

/// Ensures that no number in use is given to a second inode or name, even if the database lost its
/// record of the first.
struct NumberCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        for (table, numbers) in [
            (
                "inodes",
                "SELECT id FROM inodes UNION ALL SELECT inode FROM check_content "
                    + "UNION ALL SELECT inode FROM trash"
            ),
            ("dirents", "SELECT cookie AS id FROM dirents"),
        ] {
            let used: Int64? = try database.value("SELECT max(id) FROM (\(numbers))")
            let last: Int64? = try database.value(
                "SELECT seq FROM sqlite_sequence WHERE name = ?", [table])
            guard let used, used > last ?? 0 else { continue }
            try database.run("DELETE FROM sqlite_sequence WHERE name = ?", [table])
            try database.run(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [table, used])
        }
    }
}
