import GRDB
import Logging
import Synchronization

/// Drops clean bytes of files that are open.
extension Space {
    /// The unit of the disk's space.
    private static var blockBytes: UInt64 { 4_096 }

    /// Whether a file cannot be local as a whole: it streams through the cache.
    private func isStreaming(_ file: OpenFile) -> Bool {
        file.state.withLock { $0.size > cache.bytesMax / 2 }
    }

    /// Makes space in the cache, the cheapest first: bytes evicted before, behind the reader of a file that does not fit,
    /// closed files, bytes of open files that no reader is near.
    ///
    /// - Parameters:
    ///   - needed: The bytes without which the caller cannot go on.
    ///   - reader: The file that is being read.
    ///   - isUrgent: Whether also to drop bytes that readers will ask for soon, but not those that
    ///     requests wait for.
    /// - Returns: The number of freed bytes.
    func makeRoom(
        _ needed: UInt64, for reader: OpenFile? = nil, isUrgent: Bool = false
    ) throws(Blocked) -> UInt64 {
        let wanted = max(needed, cache.stepBytes)
        var freed = unneeded.evicted.clear(atLeast: needed)
        if freed < needed, let reader, isStreaming(reader) {
            freed += try punch(reader, atLeast: wanted - freed, minimum: cache.stepBytes)
        }
        let now = clock.uptime
        if freed < needed, !cache.isExhausted(at: now) {
            freed += try evictLeastRecentlyUsed(atLeast: wanted - freed)
            if freed < needed { cache.noteExhausted(at: now) }
        }
        if freed < needed { freed += try punchOpenFiles(atLeast: wanted - freed) }
        if freed < needed, isUrgent {
            freed += try punchOpenFiles(atLeast: needed - freed, isUrgent: true)
        }
        return freed
    }

    /// Drops clean bytes of open files, of the one that was idle longest first.
    func punchOpenFiles(
        atLeast wanted: UInt64, isUrgent: Bool = false
    ) throws(Blocked) -> UInt64 {
        var freed: UInt64 = 0
        let idle = files.all.compactMap { file in
            // A file that is being truncated or copied may stay locked for long.
            file.state.withLockIfAvailable {
                $0.isPunchable ? (time: $0.reads.lastRead, file: file) : nil
            } ?? nil
        }
        for (_, file) in idle.sorted(by: { ($0.time, $0.file.inode) < ($1.time, $1.file.inode) })
        where freed < wanted {
            freed += try punch(file, atLeast: wanted - freed, isUrgent: isUrgent)
        }
        return freed
    }

    /// Drops clean bytes of an open file that is not pinned and whose readers do not need them, the lowest
    /// offsets first.
    ///
    /// - Parameter minimum: Fewer bytes are not worth it.
    /// - Returns: The number of freed bytes.
    private func punch(
        _ file: OpenFile, atLeast wanted: UInt64, minimum: UInt64 = 1, isUrgent: Bool = false
    ) throws(Blocked) -> UInt64 {
        // Bytes that arrive meanwhile would hide how much space is freed.
        try file.withBytes { state throws(Blocked) in
            guard state.isPunchable else { return 0 }
            let used = state.reads.inUse(
                trail: cache.trailBytes, window: isUrgent ? nil : cache.windowBytes,
                at: clock.uptime)
            let dropped = Self.droppable(state, except: used, atLeast: wanted)
            let bytes = dropped.reduce(0) { $0 + UInt64($1.count) }
            // A program may still have the file mapped, or open since a mount that has ended: it would
            // read zeros. There is no such question for a lent file, which the kernel may be opening.
            guard bytes > 0, bytes >= minimum, state.file.isOpenElsewhere() != true,
                try forget(dropped, of: file.inode, evenPinned: false, &state)
            else { return 0 }
            // Bytes that have arrived since the last measurement are not those that remain.
            cache.measure(&state)
            let before = state.bytesUsed
            for range in dropped { state.present.remove(range) }
            state.isStreamed = true
            state.file.expectHoles(true)
            do throws(DiskError) {
                for range in dropped { try state.file.punchHole(Self.blocks(of: range)) }
            } catch {
                // The bytes count as missing, and their space as used, until the file is evicted.
                state.isPunchRefused = true
                logger.debug(
                    "no hole punched", metadata: ["reason": "\(error.attempt): \(error.reason)"])
            }
            cache.measure(&state)
            return before - min(before, state.bytesUsed)
        }
    }

    /// Makes all bytes of an open file count as missing, so that they are fetched again.
    ///
    /// They stay on the disk until then, for readers that are being served.
    ///
    /// - Returns: Whether they do; false if the file has changes that only this machine has (I2), or
    ///   some of its bytes are being fetched.
    func discard(_ file: OpenFile) throws(Blocked) -> Bool {
        try file.withBytes { state throws(Blocked) in
            guard state.isUnchanged, state.inFlight.isEmpty,
                try forget([0..<state.size], of: file.inode, evenPinned: true, &state)
            else { return false }
            state.present.remove(0..<state.size)
            return true
        }
    }

    /// Removes ranges from the extents that the database has, durably: if a power cut brought them
    /// back, holes would pass for bytes (I5). For most files that are only read, it has none.
    ///
    /// - Returns: Whether they may be dropped (I2).
    private func forget(
        _ ranges: [Range<UInt64>], of inode: InodeNumber, evenPinned: Bool,
        _ state: inout OpenFile.State
    ) throws(Blocked) -> Bool {
        guard state.stored != .remote else {
            return try store.read { database in
                try Self.droppable(inode, evenPinned: evenPinned, database) != nil
            }
        }
        let (isEvictable, isChanged) = try store.write { database in
            guard var record = try Self.droppable(inode, evenPinned: evenPinned, database)
            else { return (false, false) }
            let before: ExtentSet =
                record.presence == .whole ? .everything : try database.extents(of: inode)
            var extents = before
            for range in ranges { extents.remove(range) }
            guard extents != before else { return (true, false) }
            record.presence = .partial
            try database.update(record)
            try database.setExtents(extents, of: inode)
            return (true, true)
        }
        guard isChanged else { return isEvictable }
        state.stored = .partial
        try store.synchronize()
        return true
    }

    /// - Returns: nil if the bytes of a file are to stay.
    private static func droppable(
        _ inode: InodeNumber, evenPinned: Bool, _ database: Database
    ) throws -> InodeRecord? {
        var pins = try PinLookup(database)
        guard let record = try database.inode(inode), record.links > 0,
            try database.isEvictable(record), try evenPinned || !pins.isPinned(inode)
        else { return nil }
        return record
    }

    private static func droppable(
        _ state: OpenFile.State, except used: [Range<UInt64>], atLeast wanted: UInt64
    ) -> [Range<UInt64>] {
        var idle = state.present.intersection(0..<state.size)
        for range in used { idle.remove(range) }
        // Bytes of a former version may still arrive where a writer has put new ones.
        for range in state.inFlight.ranges { idle.remove(range) }
        var dropped: [Range<UInt64>] = []
        var bytes: UInt64 = 0
        for range in idle.ranges where bytes < wanted {
            let start = (range.lowerBound + blockBytes - 1) / blockBytes * blockBytes
            let end =
                range.upperBound == state.size
                ? state.size : range.upperBound / blockBytes * blockBytes
            guard start < end else { continue }
            let rest = (wanted - bytes + blockBytes - 1) / blockBytes * blockBytes
            dropped.append(start..<min(end, start + rest))
            bytes += min(end - start, rest)
        }
        return dropped
    }

    /// The last block of a file is released as a whole.
    private static func blocks(of range: Range<UInt64>) -> Range<UInt64> {
        let end = (range.upperBound + blockBytes - 1) / blockBytes * blockBytes
        return range.lowerBound..<end
    }
}

extension OpenFile.State {
    /// Whether all local bytes are those of the remote, as far as is known here.
    var isUnchanged: Bool { !isClosed && !isMarkedWriting && !isChanged && frozen.isEmpty }

    /// Whether bytes of this file may be dropped while it is open, as far as is known here. A file
    /// of one block is not worth it.
    fileprivate var isPunchable: Bool {
        isUnchanged && !isPunchRefused && size > 4_096 && bytesUsed > 0
    }
}
