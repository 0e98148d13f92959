import Logging

/// Keeps files that were deleted on the remote, and whose local bytes were complete, in the state
/// directory for a while.
///
/// The deletion and the entry in `discarded` are one transaction, so that if the process dies
/// before the bytes are moved, its next start moves them.
struct Trash: Sendable {
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    /// The maximum of bytes kept; the oldest files are removed first.
    let bytesMax: UInt64
    /// Notified when a file is added.
    let signal = Signal()

    /// How long a file is kept, in nanoseconds.
    private static var trashAgeMax: Int64 { 30 * 86_400 * 1_000_000_000 }

    /// Moves the bytes of a discarded file to the trash, with its extended attributes, once no program
    /// has it open. Does nothing for a file that is not discarded. Idempotent.
    func move(_ inode: InodeNumber) throws(Blocked) {
        guard let (destination, size, attributes) = try placeInTrash(inode) else { return }
        try onDisk("move a removed file to the trash") { () throws(DiskError) in
            let file = try disk.open(StateFiles.content(of: inode))
            // It has been moved already, and this content file is new and empty.
            guard try file.status().size >= size else { return }
            set(attributes, of: file)
            try disk.move(StateFiles.content(of: inode), to: destination)
        }
        signal.notify()
    }

    /// Returns the destination of a discarded file's bytes, their number, and its extended
    /// attributes.
    private func placeInTrash(
        _ inode: InodeNumber
    ) throws(Blocked) -> (path: DiskPath, size: UInt64, attributes: ExtendedAttributes)? {
        try store.read { database in
            guard let discarded = try database.discarded(inode),
                let record = try database.inode(inode), record.links == 0,
                record.presence == .whole
            else { return nil }
            return (
                Self.trashPath(inode, discarded), record.size,
                try database.extendedAttributes(of: inode)
            )
        }
    }

    private func set(_ attributes: ExtendedAttributes, of file: any DiskFile) {
        do throws(DiskError) {
            try file.setExtendedAttributes(attributes)
        } catch {
            // The bytes are worth more than their attributes.
            logger.warning(
                "extended attributes of a removed file not kept",
                metadata: ["reason": "\(error.attempt): \(error.reason)"])
        }
    }

    /// The path sorts by the time of removal, and contains the former name for people.
    private static func trashPath(_ inode: InodeNumber, _ discarded: DiscardedRecord) -> DiskPath {
        let digits = String(max(0, discarded.time.nanoseconds))
        let time = String(repeating: "0", count: 19 - digits.count) + digits
        return DiskPath(
            "\(StateFiles.trashFolder)/\(time)-\(inode)-\(LostAndFound.shown(discarded.name))")
    }

    /// Returns the time when a file was moved to the trash, in nanoseconds since 1970; nil for
    /// files that Apus did not put there.
    private static func time(ofTrashAt path: DiskPath) -> Int64? {
        let name = path.description.dropFirst(StateFiles.trashFolder.description.utf8.count + 1)
        let parts = name.split(separator: "-", maxSplits: 2)
        guard parts.count == 3, parts[0].count == 19, Int64(parts[1]) != nil, !name.contains("/")
        else { return nil }
        return Int64(parts[0])
    }

    /// Removes files that are too old, then the oldest ones above the maximum size.
    func prune() throws(Blocked) {
        try onDisk("clear the trash") { () throws(DiskError) in
            let oldest = clock.wallTime.nanoseconds - Self.trashAgeMax
            var kept: [(path: DiskPath, bytes: UInt64)] = []
            for path in try disk.files(below: StateFiles.trashFolder)
                .sorted(by: { $0.description < $1.description })
            {
                guard let time = Self.time(ofTrashAt: path) else { continue }
                if time < oldest {
                    try disk.remove(path)
                } else {
                    kept.append((path, try disk.open(path).status().allocatedBytes))
                }
            }
            var total = kept.reduce(0) { $0 + $1.bytes }
            for (path, bytes) in kept where total > bytesMax {
                try disk.remove(path)
                total -= bytes
            }
        }
    }
}
