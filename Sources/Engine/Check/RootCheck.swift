/// Ensures that the root is a directory without a name.
struct RootCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        guard var root = try database.inode(.root) else {
            // A database without inodes is new.
            let isNew = try !database.hasRow("inodes")
            try context.recreate(.root, as: .directory)
            if isNew { return }
            return try context.tell(.root, .root, "the root is missing", repair: "it is recreated")
        }
        if root.kind != .directory || root.links == 0 {
            root.links = max(2, root.links)
            try database.run("UPDATE inodes SET kind = 1, target = NULL WHERE id = 1")
            try database.update(root)
            try context.tell(
                .root, .root, "the root is not a directory", repair: "it becomes one again")
        }
        for table in ["dirents", "synced"] where try database.hasRow("\(table) WHERE inode = 1") {
            try database.run("DELETE FROM \(table) WHERE inode = 1")
            try context.tell(
                .root, .root, "the root has a name in \(table)", repair: "the name is removed")
        }
    }
}
