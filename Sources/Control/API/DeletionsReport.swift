/// The deletions that a confirmation let go.
package struct DeletionsReport: Codable, Hashable, Sendable {
    /// What is removed here, as on the remote.
    package var here: HeldCounts
    /// How many items are deleted on the remote, as here.
    package var onRemote: Int

    package init(here: HeldCounts, onRemote: Int) {
        self.here = here
        self.onRemote = onRemote
    }

    /// For people.
    package var line: String {
        let outgoing = onRemote == 1 ? "1 item" : "\(onRemote) items"
        return switch (here.items, onRemote) {
        case (0, 0): "No deletions were waiting."
        case (_, 0): "Removing here what the remote deleted: \(here.phrase)."
        case (0, _): "Deleting on the remote what was deleted here: \(outgoing)."
        default:
            "Removing here what the remote deleted: \(here.phrase); "
                + "deleting there what was deleted here: \(outgoing)."
        }
    }
}

/// How much is removed here once somebody confirms that the remote was meant to delete it.
package struct HeldCounts: Codable, Hashable, Sendable {
    /// Files, directories and links, with all below them.
    package var items: Int
    /// Those of them that are directories and lie in none of the others.
    package var directories: Int
    /// Those of them that lie in these directories.
    package var inDirectories: Int

    package init(items: Int, directories: Int = 0, inDirectories: Int = 0) {
        self.items = items
        self.directories = directories
        self.inDirectories = inDirectories
    }

    package static func + (left: Self, right: Self) -> Self {
        Self(
            items: left.items + right.items, directories: left.directories + right.directories,
            inDirectories: left.inDirectories + right.inDirectories)
    }

    /// For people: `3 directories with 412 items and 2 others`.
    var phrase: String {
        func count(_ number: Int, _ one: String, _ many: String) -> String {
            number == 1 ? "1 \(one)" : "\(number) \(many)"
        }
        guard directories > 0 else { return count(items, "item", "items") }
        let others = items - directories - inDirectories
        return count(directories, "directory", "directories") + " with "
            + count(inDirectories, "item", "items")
            + (others > 0 ? " and " + count(others, "other", "others") : "")
    }
}
