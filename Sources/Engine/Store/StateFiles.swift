/// The files and folders of a state directory; see `docs/formats.md`.
package enum StateFiles {
    package static let contentFolder = DiskPath("content")
    /// Clones of files that are being uploaded: `frozen/INODE-GENERATION`.
    package static let frozenFolder = DiskPath("frozen")
    /// Clones in the making: `clones/INODE`.
    package static let clonesFolder = DiskPath("clones")
    /// Files deleted on the remote, kept for a while.
    package static let trashFolder = DiskPath("trash")
    /// Bytes that belong to no file. Apus never deletes them.
    package static let lostFolder = DiskPath("lost+found")

    private static let files: Set<String> = [
        "lock", "state.sqlite", "state.sqlite-wal", "state.sqlite-shm", "state.sqlite-journal",
        "state.sqlite.saving", "state.sqlite.saving-journal",
        "control.sock", "log", "log.1", "ballast",
    ]
    private static let folders = Set(
        [contentFolder, frozenFolder, clonesFolder, trashFolder, lostFolder].map(\.description))
    private static let damagedPrefix = "state.sqlite.damaged-"

    /// Whether a file or directory of this name in a state directory belongs to Apus.
    package static func isOurs(_ name: String) -> Bool {
        files.contains(name) || folders.contains(name) || name.hasPrefix(damagedPrefix)
    }

    /// Whether a path is that of a clone, in `frozen` or `clones`. Clones may be removed, as their
    /// originals are newer.
    package static func isClone(_ path: DiskPath) -> Bool {
        let names = path.description.split(separator: "/")
        guard names.count == 2 else { return false }
        let numbers = names[1].split(separator: "-", omittingEmptySubsequences: false)
        let expected = names[0] == frozenFolder.description ? 2 : 1
        return numbers.count == expected && numbers.allSatisfy { UInt64($0) != nil }
    }

    /// - Parameter path: The path of a file, relative to the state directory.
    static func isOurs(atPath path: String) -> Bool {
        guard let end = path.firstIndex(of: "/") else { return isOurs(path) }
        return folders.contains(String(path[..<end]))
    }

    /// `INODE-NAME` in `lost+found/`; if that is taken, `INODE-2-NAME` and so on.
    static func lostPlace<Failure: Error>(
        _ inode: InodeNumber?, _ name: String?, isTaken: (DiskPath) throws(Failure) -> Bool
    ) throws(Failure) -> DiskPath {
        var number = 1
        while true {
            let words = [inode?.description, number > 1 ? "\(number)" : nil, name]
            let place = DiskPath(
                "\(lostFolder)/" + words.compactMap(\.self).joined(separator: "-"))
            if try !isTaken(place) { return place }
            number += 1
        }
    }

    /// Returns the end of a path, as part of a file name.
    static func shown(_ path: String) -> String {
        String(path.map { $0 == "/" || $0 == "\0" || $0.isNewline ? "_" : $0 }.suffix(60))
    }

    /// Returns the path of an inode's content, in folders of 256 files.
    package static func content(of inode: InodeNumber) -> DiskPath {
        let folder = String(inode.rawValue & 0xFF, radix: 16)
        return DiskPath("\(contentFolder)/\(folder)/\(inode)")
    }

    /// Returns the inode whose content is at a path; nil for other paths.
    static func inode(ofContentAt path: DiskPath) -> InodeNumber? {
        let number = path.description.split(separator: "/").last.flatMap { Int64($0) }
        guard let inode = number.map(InodeNumber.init(rawValue:)), content(of: inode) == path
        else { return nil }
        return inode
    }
}
