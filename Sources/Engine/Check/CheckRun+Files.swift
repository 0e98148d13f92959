import GRDB

// What else lies in the state directory.

extension CheckRun {
    static let clonesFolder = DiskPath("clones")

    func checkFiles() throws {
        try removeLeftovers(StateFiles.frozenFolder)
        try removeLeftovers(Self.clonesFolder)
        let count = try Int.fetchOne(
            database, sql: "SELECT count(*) FROM inodes WHERE writing = 1 AND links > 0")
        if let count, count > 0 {
            report.add(
                CheckFinding(
                    .leftover, .note,
                    what: "\(count) files were open for writing when the process ended",
                    repair: "the next mount takes them up"))
        }
        for path in try files(below: DiskPath(""))
        where !StateFiles.isOurs(atPath: path.description) {
            report.add(
                CheckFinding(
                    .unknown, .note, path: path.description,
                    what: "a file that is not ours", repair: "it is left alone"))
        }
    }

    /// Clones that a killed process made.
    private func removeLeftovers(_ folder: DiskPath) throws {
        var paths = try files(below: folder)
        let split = paths.partition { !StateFiles.isClone($0) }
        for path in paths[split...] {
            let place = try moveToLost(path, inode: nil, was: path.description)
            try tell(
                .stray, path: path.description, "it is no clone of an upload",
                repair: "it is moved to \(place)")
        }
        paths.removeSubrange(split...)
        guard !paths.isEmpty else { return }
        if !isDryRun {
            for path in paths { try onDisk { () throws(DiskError) in try disk.remove(path) } }
        }
        report.add(
            CheckFinding(
                .leftover, .note, path: folder.description,
                what: "\(paths.count) clones of an upload that was cut short",
                repair: "they are removed"))
    }

    /// A number is never given to a second inode, also where the database has forgotten the first.
    func keepNumbersApart() throws {
        for (table, numbers) in [
            ("inodes", "SELECT id FROM inodes UNION ALL SELECT inode FROM check_content"),
            ("dirents", "SELECT cookie AS id FROM dirents"),
        ] {
            let used = try Int64.fetchOne(database, sql: "SELECT max(id) FROM (\(numbers))")
            let last = try Int64.fetchOne(
                database, sql: "SELECT seq FROM sqlite_sequence WHERE name = ?", arguments: [table])
            guard let used, used > last ?? 0 else { continue }
            try database.execute(
                sql: "DELETE FROM sqlite_sequence WHERE name = ?", arguments: [table])
            try database.execute(
                sql: "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)",
                arguments: [table, used])
        }
    }
}
