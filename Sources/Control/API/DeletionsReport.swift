/// The deletions released by a confirmation.
package struct DeletionsReport: Codable, Hashable, Sendable {
    /// Items that are removed locally, as on the remote.
    package var here: HeldCounts
    /// The number of those deletions that are released so far, each directory counted as one.
    package var released: Int
    /// The number of items that are deleted on the remote, as locally; those so far.
    package var onRemote: Int
    /// Whether all are released. The last value of a stream.
    package var isDone: Bool

    package init(here: HeldCounts, released: Int, onRemote: Int, isDone: Bool = true) {
        self.here = here
        self.released = released
        self.onRemote = onRemote
        self.isDone = isDone
    }

    private enum CodingKeys: String, CodingKey {
        case here, released, onRemote
        case isDone = "done"
    }

    /// The report as a sentence.
    package var line: String {
        guard isDone else {
            return onRemote > 0
                ? "Deleting on the remote what was deleted here: "
                    + "\(counted(onRemote, "item", "items")) so far."
                : "Released \(released) of \(counted(here.deletions, "deletion", "deletions"))."
        }
        let outgoing = counted(onRemote, "item", "items")
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

/// The result of rejecting held deletions.
package struct RejectionReport: Codable, Hashable, Sendable {
    /// The number of items deleted on the remote that are sent to it again.
    package var sentAgain: UInt64
    /// The number of items deleted locally that appear here again.
    package var broughtBack: UInt64
    /// The number of files that stay held, as not all of their bytes are here.
    package var left: UInt64
    /// The paths of the first 20 of them.
    package var leftPaths: [String]
    /// Whether it has ended; before, the numbers are those so far. The last value of a stream.
    package var isDone: Bool

    package init(
        sentAgain: UInt64, broughtBack: UInt64, left: UInt64, leftPaths: [String],
        isDone: Bool = true
    ) {
        self.sentAgain = sentAgain
        self.broughtBack = broughtBack
        self.left = left
        self.leftPaths = leftPaths
        self.isDone = isDone
    }

    private enum CodingKeys: String, CodingKey {
        case sentAgain, broughtBack, left, leftPaths
        case isDone = "done"
    }

    /// The report as a sentence, without what is left.
    package var line: String {
        guard isDone else {
            return "\(counted(sentAgain + broughtBack, "item", "items")) brought back so far."
        }
        let parts = [
            sentAgain > 0
                ? "sending again what the remote deleted: \(counted(sentAgain, "item", "items"))"
                : nil,
            broughtBack > 0
                ? "bringing back what was deleted here: \(counted(broughtBack, "item", "items"))"
                : nil,
        ].compactMap(\.self)
        guard let first = parts.first else {
            return left > 0 ? "Nothing can be brought back." : "No deletions were waiting."
        }
        return first.prefix(1).uppercased() + parts.joined(separator: "; ").dropFirst() + "."
    }

    /// The reason why files are left, with their paths; nil if none is.
    package var leftReason: String? {
        guard left > 0 else { return nil }
        let names = leftPaths.map(\.shellEscaped).joined(separator: ", ")
        return "not all bytes of \(counted(left, "file", "files")) are on this machine: "
            + names + (left > UInt64(leftPaths.count) ? ", …" : "")
    }
}

/// The extent of the remote deletions that wait for a confirmation.
package struct HeldCounts: Codable, Hashable, Sendable {
    /// All files, directories and links, including those within deleted directories.
    package var items: Int
    /// The outermost directories among them.
    package var directories: Int
    /// The items within these directories.
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

    /// The number of deletions, each directory counted as one.
    package var deletions: UInt64 { UInt64(max(0, items - inDirectories)) }

    /// `3 directories with 412 items and 2 others`.
    var phrase: String {
        guard directories > 0 else { return counted(items, "item", "items") }
        let others = items - directories - inDirectories
        return counted(directories, "directory", "directories") + " with "
            + counted(inDirectories, "item", "items")
            + (others > 0 ? " and " + counted(others, "other", "others") : "")
    }
}
