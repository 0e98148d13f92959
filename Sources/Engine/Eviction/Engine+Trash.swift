import Logging

// What the remote deleted and was whole here is kept for a while, in the state directory.

extension Engine {
    static var trashFolder: DiskPath { DiskPath("trash") }
    /// How long it is kept, in nanoseconds.
    private static var trashAgeMax: Int64 { 30 * 86_400 * 1_000_000_000 }

    /// Moves the bytes of a removed file to the trash, if all of them are here.
    func keepInTrash(_ inode: InodeNumber, _ name: FileName) {
        do throws(Halt) {
            let record = try store.read { try $0.inode(inode) }
            guard let record, record.links == 0, record.presence == .whole, record.size > 0,
                record.size <= trashBytesMax
            else { return }
            let destination = trashPath(inode, name)
            let isMoved: Void? = try files.withExclusive(inode) { () throws(Halt) in
                try onDisk("keep a removed file") { () throws(DiskError) in
                    try disk.move(OpenFile.path(of: inode), to: destination)
                }
            }
            if isMoved == nil, let file = files.existing(inode) {
                // Somebody goes on reading it.
                try file.withState { state throws(Halt) in
                    _ = try onDisk("keep a removed file") { () throws(DiskError) in
                        try disk.clone(state.file, to: destination)
                    }
                }
            }
            trashBell.ring()
        } catch {
            // The remote wanted it gone; a copy is a courtesy.
            logger.warning(
                "removed file not kept", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
    }

    private var trashBytesMax: UInt64 { configuration.cacheBytesMax / 10 }

    /// Sorts by the time of removal, and shows people what it was.
    private func trashPath(_ inode: InodeNumber, _ name: FileName) -> DiskPath {
        let digits = String(max(0, clock.wallTime.nanoseconds))
        let time = String(repeating: "0", count: 19 - digits.count) + digits
        return DiskPath("\(Self.trashFolder)/\(time)-\(inode)-\(Self.shown(name))")
    }

    /// Removes what is too old, and the oldest of what is too much.
    func pruneTrash() throws(Halt) {
        try onDisk("clear the trash") { () throws(DiskError) in
            let oldest = clock.wallTime.nanoseconds - Self.trashAgeMax
            var kept: [(path: DiskPath, bytes: UInt64)] = []
            for path in try disk.files(below: Self.trashFolder)
                .sorted(by: { $0.description < $1.description })
            {
                let name = path.description.split(separator: "/").last ?? ""
                let time = Int64(name.prefix { $0 != "-" }) ?? .max
                if time < oldest {
                    try disk.remove(path)
                } else {
                    kept.append((path, try disk.open(path).status().allocatedBytes))
                }
            }
            var total = kept.reduce(0) { $0 + $1.bytes }
            for (path, bytes) in kept where total > trashBytesMax {
                try disk.remove(path)
                total -= bytes
            }
        }
    }
}
