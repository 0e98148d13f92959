/// What lies in a state directory; see `docs/formats.md`.
package enum StateFiles {
    private static let files: Set<String> = [
        "lock", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.sqlite-journal",
        "state.sqlite.saving", "state.sqlite.saving-journal",
        "control.sock", "log", "log.1", "ballast",
    ]
    private static let folders: Set<String> = [
        StateFiles.contentFolder.description, StateFiles.lostFolder.description,
        StateFiles.frozenFolder.description, StateFiles.trashFolder.description,
        CheckRun.clonesFolder.description,
    ]
    private static let damagedPrefix = "state.sqlite.damaged-"

    /// Whether a file or directory of this name in a state directory is one of ours.
    package static func isOurs(_ name: String) -> Bool {
        files.contains(name) || folders.contains(name) || name.hasPrefix(damagedPrefix)
    }

    /// Whether a file has the path of a clone: `frozen/N-G`, or `clones/N` while it is being made.
    /// Those may be removed, as what they were made of is newer.
    package static func isClone(_ path: DiskPath) -> Bool {
        let names = path.description.split(separator: "/")
        guard names.count == 2 else { return false }
        let numbers = names[1].split(separator: "-", omittingEmptySubsequences: false)
        let expected = names[0] == StateFiles.frozenFolder.description ? 2 : 1
        return numbers.count == expected && numbers.allSatisfy { UInt64($0) != nil }
    }

    /// - Parameter path: Of a file, below the state directory.
    static func isOurs(atPath path: String) -> Bool {
        guard let end = path.firstIndex(of: "/") else { return isOurs(path) }
        return folders.contains(String(path[..<end]))
    }
}
