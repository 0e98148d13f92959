import GRDB
import Logging

/// The result of an eviction.
package struct EvictionReport: Sendable {
    package var files = 0
    package var bytesFreed: UInt64 = 0
    /// Bytes of evicted files that are still on the disk, and are removed in the background.
    package var bytesLeaving: UInt64 = 0
    /// The files that were not evicted, each with its path and the reason.
    package var refused: [(path: String, reason: String)] = []
    /// The pinned items among them: each is reported once, not with every file below it.
    var pins: Set<InodeNumber> = []
}

extension Space {
    func evict(_ inode: InodeNumber) throws(EngineError) -> EvictionReport {
        var report = EvictionReport()
        try completed(do: evict(inode, &report))
        return report
    }

    private func evict(_ inode: InodeNumber, _ report: inout EvictionReport) throws(Blocked) {
        let (kind, pin) = try store.read { database in
            var pins = try PinLookup(database)
            return (try database.existingInode(inode).kind, try pins.pin(of: inode))
        }
        if let pin { return try refuse(inode, pinnedBy: pin, &report) }
        switch kind {
        case .symlink: return
        case .file: try evictFile(inode, &report)
        case .directory: try evictFiles(below: inode, &report)
        }
    }

    /// Evicts the files below a directory. Only those with local bytes are looked at, so that the
    /// time depends on the cache, not on the tree.
    private func evictFiles(
        below directory: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        // The database may have no bytes of these yet.
        for file in files.all.map(\.inode).sorted()
        where try store.read({ try $0.isNamed(file, below: directory) }) {
            try evictFile(file, &report)
        }
        var last = InodeNumber(rawValue: 0)
        while true {
            let (end, found) = try store.read { database in
                let page = try database.filesWithLocalBytes(after: last, limit: Self.pageFiles)
                var isBelow: [InodeNumber: Bool] = [.root: directory == .root]
                let found = try page.filter { file in
                    if let known = isBelow[file.parent] { return known }
                    let answer = try database.isBelow(directory, file.inode)
                    isBelow[file.parent] = answer
                    return answer
                }
                return (page.last?.inode, found)
            }
            guard let end else { return }
            for batch in Self.batches(of: found.filter { files.existing($0.inode) == nil }) {
                let isLater =
                    report.files >= evictedAtOnceMax && unneeded.evicted.hasPlace(for: batch.count)
                for (inode, eviction) in try evictFiles(batch, removing: isLater ? .later : .now) {
                    try note(eviction, of: inode, &report)
                }
            }
            // Not one by one as the files are opened again; and the list of them is in memory.
            try durability.keepEvictionsSafe()
            last = end
        }
    }

    /// The files looked at with one query.
    private static var pageFiles: Int { 8_192 }
    /// The files evicted in one transaction: neighbours, which share pages of the database. A program that
    /// opens one of them waits until their bytes are removed.
    private static var batchFiles: Int { 1_024 }
    private static var batchBytes: UInt64 { 64 << 20 }

    /// Divides files into batches, none of which takes long; a large file is a batch of its own.
    static func batches(of files: [LocalFile]) -> [[InodeNumber]] {
        var batches: [[InodeNumber]] = []
        var bytes: UInt64 = 0
        for file in files {
            bytes += file.bytes
            if bytes > batchBytes || batches.last.map({ $0.count >= batchFiles }) ?? true {
                batches.append([])
                bytes = file.bytes
            }
            batches[batches.count - 1].append(file.inode)
        }
        return batches
    }

    private func evictFile(
        _ inode: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        try note(evictFile(inode), of: inode, &report)
    }

    private func note(
        _ eviction: Eviction, of inode: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        switch eviction {
        case .evicted(let bytes):
            report.files += 1
            report.bytesFreed += bytes
        case .leaving(let bytes):
            report.files += 1
            report.bytesLeaving += bytes
        case .nothingHere: break
        case .refused(let reason), .left(let reason):
            let path = try store.read { try $0.path(of: inode) }
            report.refused.append((ObjectKey(path).description, reason))
        case .pinned(let pin): try refuse(pin, pinnedBy: pin, &report)
        }
    }

    private func refuse(
        _ inode: InodeNumber, pinnedBy pin: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        guard report.pins.insert(pin).inserted else { return }
        let (path, pinned) = try store.read { (try $0.path(of: inode), try $0.pinnedName(of: pin)) }
        let reason =
            inode == pin
            ? "it is pinned; run `apus unpin` first"
            : "\(pinned) is pinned; run `apus unpin` for that first"
        report.refused.append((ObjectKey(path).description, reason))
    }

    private static var unsentReason: String {
        "it has changes that are not on the remote yet; run `apus sync` first"
    }

    /// Drops files that the disk has failed to store and that the remote has: they are fetched again.
    func evictUnstored() throws(Blocked) {
        var last = InodeNumber(rawValue: 0)
        while true {
            let inodes = try store.read { try $0.unstored(after: last, limit: 100) }
            guard let end = inodes.last else { return }
            for inode in inodes { _ = try evictFiles([inode], evenPinned: true) }
            last = end
        }
    }

    enum Eviction {
        case evicted(bytes: UInt64)
        /// Evicted; ``EvictedContent`` removes the bytes.
        case leaving(bytes: UInt64)
        case nothingHere
        case refused(String)
        /// It stays, as this inode is pinned.
        case pinned(InodeNumber)
        /// The bytes are not needed any more, but could not be removed.
        case left(String)

        var isDone: Bool {
            if case .evicted = self { true } else { false }
        }

        var isLeft: Bool {
            if case .left = self { true } else { false }
        }
    }

    /// When the bytes of evicted files are removed from the disk.
    enum ContentRemoval { case now, later }

    /// Drops the bytes of one file if they are on the remote and not in use (I2).
    func evictFile(_ inode: InodeNumber) throws(Blocked) -> Eviction {
        try evictFiles([inode])[0].1
    }

    /// Drops the bytes of some files, in one transaction.
    ///
    /// - Parameter evenPinned: Whether also those of pinned files, to be fetched again.
    func evictFiles(
        _ inodes: [InodeNumber], removing removal: ContentRemoval = .now,
        evenPinned: Bool = false
    ) throws(Blocked) -> [(InodeNumber, Eviction)] {
        let evictions = try files.withExclusive(inodes) { unused throws(Blocked) in
            try evictUnused(unused, removing: removal, evenPinned: evenPinned)
        }
        var results: [(InodeNumber, Eviction)] = []
        for inode in inodes {
            if let eviction = evictions[inode] {
                results.append((inode, eviction))
            } else {
                let isDirty = try store.read { try $0.isOnlyHere(inode) }
                results.append(
                    (inode, .refused(isDirty ? Self.unsentReason : "it is open; close it first")))
            }
        }
        // The kernel's cached bytes are dropped too, to free the memory as well.
        let evicted = results.compactMap { inode, eviction -> CacheChange? in
            if case .evicted = eviction { .inode(inode) } else { nil }
        }
        kernelCache.announce(evicted)
        return results
    }

    private func evictUnused(
        _ inodes: [InodeNumber], removing removal: ContentRemoval, evenPinned: Bool
    ) throws(Blocked) -> [InodeNumber: Eviction] {
        var (evictions, forgotten) = try forget(inodes, evenPinned: evenPinned)
        durability.noteEvictions(forgotten.map(\.inode))
        switch removal {
        case .now:
            try cache.holding(forgotten.reduce(0) { $0 + $1.bytes }) {
                for (inode, _) in forgotten { evictions[inode] = removeContent(of: inode) }
            }
        case .later:
            for (inode, bytes) in forgotten { evictions[inode] = .leaving(bytes: bytes) }
            unneeded.evicted.add(forgotten)
        }
        return evictions
    }

    /// Has the database forget the bytes of those files that may be evicted, once no power cut makes it
    /// forget that the remote has them: one with a pending version and without its bytes would be left.
    private func forget(_ inodes: [InodeNumber], evenPinned: Bool) throws(Blocked) -> Forgotten {
        let forgotten = try store.write { database in
            try store.isSettled ? forget(inodes, among: inodes, evenPinned, database) : nil
        }
        if let forgotten { return forgotten }
        let evictable = try store.read { database in
            try database.contentBytes(of: inodes, if: Self.isWorthwhile).map(\.inode)
        }
        // Before anything is forgotten: a failure of the disk is to cost the cache nothing.
        try store.synchronize()
        return try store.write { try forget(inodes, among: evictable, evenPinned, $0) }
    }

    private typealias Forgotten = (
        evictions: [InodeNumber: Eviction], content: [(inode: InodeNumber, bytes: UInt64)]
    )

    /// - Parameter evictable: Those of the inodes that may be forgotten.
    private func forget(
        _ inodes: [InodeNumber], among evictable: [InodeNumber], _ evenPinned: Bool,
        _ database: Database
    ) throws -> Forgotten {
        var evictions = evenPinned ? [:] : try Self.pinned(inodes, database)
        let unpinned = evictable.filter { evictions[$0] == nil }
        let forgotten = try database.forgetContent(of: unpinned, if: Self.isWorthwhile)
        let known = Set(forgotten.map(\.inode))
        for inode in inodes where evictions[inode] == nil && !known.contains(inode) {
            evictions[inode] = try refusal(of: inode, database)
        }
        return (evictions, forgotten)
    }

    private static func pinned(
        _ inodes: [InodeNumber], _ database: Database
    ) throws -> [InodeNumber: Eviction] {
        var pins = try PinLookup(database)
        var pinned: [InodeNumber: Eviction] = [:]
        for inode in inodes { pinned[inode] = try pins.pin(of: inode).map { .pinned($0) } }
        return pinned
    }

    private func removeContent(of inode: InodeNumber) -> Eviction {
        let path = StateFiles.content(of: inode)
        do throws(DiskError) {
            let bytes = try disk.status(of: path)?.allocatedBytes ?? 0
            try disk.remove(path)
            return .evicted(bytes: bytes)
        } catch {
            // The next use empties it, and the next start removes it.
            let reason = "\(error.attempt): \(error.reason)"
            logger.warning(
                "evicted bytes not removed", metadata: ["inode": "\(inode)", "reason": "\(reason)"])
            return .left("its bytes could not be removed: \(error.reason)")
        }
    }

    /// Forgets the bytes of an unused file if some that the database records are gone, as after a power
    /// cut, and the remote has them.
    ///
    /// - Parameter size: That of the content file, which the caller truncates or removes.
    /// - Returns: Whether they are forgotten.
    func forgetLost(_ inode: InodeNumber, contentSize size: UInt64) throws(Blocked) -> Bool {
        let isForgotten = try store.write { database in
            // Attributes or a name may have changed since: the remote has the bytes nevertheless.
            guard let record = try database.inode(inode), record.presence != .remote,
                try !record.isWriting && !database.isChangedHere(record),
                try size < database.leastContentSize(record)
            else { return false }
            return try database.forgetContent(of: inode)
        }
        guard isForgotten else { return false }
        logger.warning("lost bytes are fetched again", metadata: ["inode": "\(inode)"])
        durability.noteEvictions([inode])
        return true
    }

    /// Returns the reason why the bytes of a file may not be dropped.
    private func refusal(of inode: InodeNumber, _ database: Database) throws -> Eviction {
        guard let record = try database.inode(inode), record.presence != .remote,
            try !database.isEvictable(record)
        else { return .nothingHere }
        let isLost = try database.pending(inode)?.failure?.kind == .damaged
        if try database.isExcluded(inode) {
            return .refused("it is excluded, so that it exists only here")
        }
        return .refused(
            isLost ? "its bytes are lost; \(SyncFailure.lostBytesRemedy)" : Self.unsentReason)
    }

    /// An empty file has nothing to be dropped, except a failure of the disk.
    private static var isWorthwhile: String {
        """
        \(Database.isEvictable) AND (size > 0
            OR EXISTS (SELECT 1 FROM unsynced WHERE inode = inodes.id AND failed = 1))
        """
    }
}

extension Database {
    /// Whether a file that has a name is below a directory.
    fileprivate func isNamed(_ inode: InodeNumber, below directory: InodeNumber) throws -> Bool {
        try dirent(of: inode) != nil && (directory == .root || isBelow(directory, inode))
    }
}
