import Logging

/// Keeps files that were deleted on the remote, or lost a conflict, and whose local bytes were complete,
/// in the state directory for a while.
///
/// The deletion and the entry in `discarded` are one transaction, so that if the process dies
/// before the bytes are moved, its next start moves them.
struct Trash: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    /// Notified when a file is added.
    let signal = Signal()

    /// How long a file is kept, in nanoseconds.
    static var ageMax: Int64 { 30 * 86_400 * 1_000_000_000 }

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

    /// Returns the path of a file in the trash.
    static func path(of record: TrashRecord) -> DiskPath {
        let name = record.path.names.last ?? FileName(stored: [])
        return trashPath(record.inode, DiscardedRecord(name: name, time: record.time))
    }

    /// A file in the trash.
    private struct Found {
        var path: DiskPath
        var time: Timestamp
        var inode: InodeNumber
        var name: String

        /// - Returns: nil for files that Apus did not put there.
        init?(_ path: DiskPath) {
            let name = path.description.dropFirst(StateFiles.trashFolder.description.utf8.count + 1)
            let parts = name.split(separator: "-", maxSplits: 2)
            guard parts.count == 3, parts[0].count == 19, !name.contains("/"),
                let time = Int64(parts[0]), let inode = Int64(parts[1])
            else { return nil }
            self.path = path
            self.time = Timestamp(nanoseconds: time)
            self.inode = InodeNumber(rawValue: inode)
            self.name = String(parts[2])
        }
    }

    /// Removes files that are too old, then the oldest ones above the maximum size.
    func prune() throws(Blocked) {
        let found = try onDisk("list the trash") { () throws(DiskError) in
            try disk.files(below: StateFiles.trashFolder).compactMap { Found($0) }
                .sorted { ($0.time, $0.inode) < ($1.time, $1.inode) }
        }
        try adopt(found)
        let oldest = clock.wallTime.nanoseconds - Self.ageMax
        var kept: [(file: Found, bytes: UInt64)] = []
        for file in found {
            if file.time.nanoseconds < oldest {
                try remove(file)
            } else if let status = try onDisk("read \(file.path)", do: disk.status(of: file.path)) {
                kept.append((file, status.allocatedBytes))
            }
        }
        var total = kept.reduce(0) { $0 + $1.bytes }
        for (file, bytes) in kept where total > configuration.trashBytesMax {
            try remove(file)
            total -= bytes
        }
        try forgetMissing(except: Set(found.map(\.inode)))
    }

    private func remove(_ file: Found) throws(Blocked) {
        // The bytes stay if they are about to be restored.
        let isRemoved = try store.write { try $0.removeUnrestoredTrash(of: file.inode) }
        guard isRemoved else { return }
        try onDisk("remove \(file.path)", do: disk.remove(file.path))
    }

    /// The rows looked at together.
    private static var pageRows: Int { 1_000 }

    /// Records files without a row: they are of an older version, or a power cut has taken the row.
    private func adopt(_ found: [Found]) throws(Blocked) {
        for page in found.pieces(of: Self.pageRows) {
            let unknown = Set(
                try store.read { try $0.missingInTrash(among: page.map(\.inode)) })
            for file in page where unknown.contains(file.inode) {
                guard let name = FileName(file.name),
                    let status = try onDisk(
                        "read \(file.path)", do: disk.status(of: file.path))
                else { continue }
                try store.write { database in
                    try database.insertTrash(
                        TrashRecord(
                            inode: file.inode, path: ObjectKey([name]), time: file.time,
                            size: status.size, mode: configuration.fileMode,
                            owner: configuration.owner, modified: status.modified,
                            extendedAttributes: ExtendedAttributes()))
                }
            }
        }
    }

    /// Removes the rows of files that are not in the trash, and are not on their way to it either.
    private func forgetMissing(except found: Set<InodeNumber>) throws(Blocked) {
        var last: Int64 = 0
        while true {
            let (end, missing) = try store.read { database in
                let page = try database.trash(below: .root, after: last, limit: Self.pageRows)
                let missing = page.filter { !found.contains($0.inode) && $0.restored == nil }
                return (page.last, try missing.filter { try database.inode($0.inode) == nil })
            }
            guard let end else { return }
            last = end.position
            for record in missing {
                let path = Self.path(of: record)
                // It may have been moved there since the files were listed.
                guard try onDisk("read \(path)", do: disk.status(of: path)) == nil else { continue }
                _ = try store.write { try $0.removeUnrestoredTrash(of: record.inode) }
            }
        }
    }
}
