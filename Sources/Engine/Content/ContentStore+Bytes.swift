import Logging
import Synchronization

/// A range of readable bytes: a file, and the number of bytes available from the requested offset
/// on.
package struct ReadableRange: Sendable {
    package var file: any DiskFile
    /// 0 at and beyond the end of the file.
    package var count: Int
    /// Keeps the bytes local; held until they are read.
    package var lease: ReadLease?
}

/// Keeps a range of an open file from being dropped until it is read.
package final class ReadLease: Sendable {
    private let file: OpenFile
    private let range: Range<UInt64>

    /// - Parameter state: Of `file`.
    init(_ range: Range<UInt64>, of file: OpenFile, _ state: inout OpenFile.State) {
        (self.file, self.range) = (file, range)
        state.reads.beginServing(range)
    }

    deinit { file.state.withLock { $0.reads.endServing(range) } }
}

extension ContentStore {
    func read(
        _ inode: InodeNumber, at offset: UInt64, length: Int, isScan: Bool
    ) throws(Blocked) -> ReadableRange {
        try withFile(inode) { file throws(Blocked) in
            let read: (range: ReadableRange, wantsMore: Bool) =
                try file.withState { state throws(Blocked) in
                    let end = min(state.size, offset + min(UInt64(length), ExtentSet.endMax))
                    guard offset < end else {
                        return (ReadableRange(file: state.file, count: 0), false)
                    }
                    guard state.present.contains(offset..<end) else {
                        throw .awaits(
                            isScan
                                ? .scanned(inode, offset..<end) : .content(inode, offset..<end))
                    }
                    if isScan {
                        state.reads.endExpecting(offset..<end)
                    } else {
                        state.reads.note(offset..<end, at: clock.uptime)
                    }
                    let lease = ReadLease(offset..<end, of: file, &state)
                    let range = ReadableRange(
                        file: state.file, count: Int(end - offset), lease: lease)
                    return (range, !isScan && wantsMore(state))
                }
            if read.wantsMore { readAhead.request(file) }
            return read.range
        }
    }

    /// Returns all bytes of an open file, which stay local while the lease is held.
    ///
    /// - Returns: nil if they are not all local, or may change.
    func lend(_ file: OpenFile, bytesMin: UInt64) -> ReadableRange? {
        file.state.withLock { state in
            guard state.size >= bytesMin, state.stored == .whole, state.isWhole, state.isUnchanged,
                state.inFlight.isEmpty, let count = Int(exactly: state.size)
            else { return nil }
            let lease = ReadLease(0..<state.size, of: file, &state)
            return ReadableRange(file: state.file, count: count, lease: lease)
        }
    }

    private func wantsMore(_ state: OpenFile.State) -> Bool {
        guard state.stored != .whole, !state.ahead.isQueued, !state.isWhole else { return false }
        let limits = space.cache.aheadLimits(hasRoom: true)
        return state.nextAhead(limits, at: clock.uptime) != nil
    }

    func write(
        _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(Blocked) {
        try configuration.requireWritable("write to inode \(inode)")
        let (end, isTooLarge) = offset.addingReportingOverflow(UInt64(bytes.count))
        guard !isTooLarge, end < ExtentSet.endMax else {
            throw .failure(.tooLarge, "write \(bytes.count) bytes at \(offset) of inode \(inode)")
        }
        guard !bytes.isEmpty else { return }
        let attempt = "write \(bytes.count) bytes at \(offset) of inode \(inode)"
        while true {
            try space.reserve(for: UInt64(bytes.count), attempt)
            try space.makeRoom(forWritten: UInt64(bytes.count))
            let isWritten = try withFile(inode) { file throws(Blocked) in
                try write(bytes, offset..<end, of: file, attempt)
            }
            if isWritten { return }
        }
    }

    /// - Returns: Whether the write succeeded; false if the disk has no room.
    private func write(
        _ bytes: UnsafeRawBufferPointer, _ extent: Range<UInt64>, of file: OpenFile,
        _ attempt: String
    ) throws(Blocked) -> Bool {
        let isWritten = try file.withBytes { state throws(Blocked) in
            try beginChange(of: extent, file.inode, &state)
            do throws(DiskError) {
                try state.file.write(bytes, at: extent.lowerBound)
            } catch {
                // Bytes of a failed write do not belong to the file.
                try? state.file.truncate(to: state.size)
                space.cache.measure(&state)
                guard error.kind == .full else { throw .failure(EngineError(error, attempt)) }
                space.noteRefusal()
                return false
            }
            state.size = max(state.size, extent.upperBound)
            state.modified = clock.wallTime
            space.cache.measure(&state)
            try storeWrittenExtent(extent, file.inode, &state)
            return true
        }
        if isWritten { readAhead.request(file) }
        return isWritten
    }

    /// Records written bytes as local before the kernel is told (I1), so that a fetch never
    /// overwrites them with bytes of the base version.
    private func storeWrittenExtent(
        _ extent: Range<UInt64>, _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) {
        guard state.stored != .whole else { return }
        state.present.insert(extent)
        if state.isWhole || state.stored == .remote { return try storePresence(inode, &state) }
        _ = try synchronizeIfOwed(inode, state)
        let size = state.size
        state.counts.stored += 1
        try store.write { database in
            try database.insertExtent(extent, of: inode)
            try database.setPartial(inode, size: size)
        }
    }

    /// Sets a file's size; new bytes are zeros. POSIX: `ftruncate`.
    ///
    /// - Parameter isOpening: Whether `O_TRUNC` does it, which changes the time of an empty file too.
    func truncate(
        _ inode: InodeNumber, to size: UInt64, isOpening: Bool = false
    ) throws(Blocked) {
        guard size < ExtentSet.endMax else {
            throw .failure(.tooLarge, "resize inode \(inode) to \(size) bytes")
        }
        let file = size == 0 ? try retainToEmpty(inode) : try retain(inode)
        defer { releaseUse(of: inode) }
        let hasWriters = try file.withBytes { state throws(Blocked) in
            guard size != state.size || isOpening else {
                // POSIX: the time changes nevertheless; setAttributes sets it.
                return true
            }
            try beginChange(
                of: min(size, state.size)..<max(size, state.size), inode, &state)
            let before = (present: state.present, size: state.size)
            // Beyond the new end this version consists of zeros, even if it grows again.
            state.present.insert(min(size, state.size)..<ExtentSet.endMax)
            state.size = size
            do throws(Blocked) {
                // A crash in between must not leave extents beyond the end of the bytes: for a
                // partial file, the database is updated first.
                if state.stored == .partial, size < before.size {
                    try storeCut(inode, state)
                }
                try onDisk("truncate inode \(inode)", do: state.file.truncate(to: size))
            } catch {
                (state.present, state.size) = before
                throw error
            }
            state.modified = clock.wallTime
            space.cache.measure(&state)
            try storePresence(inode, &state)
            if size == 0 { try durability.forgetFailure(of: inode) }
            return state.writers > 0
        }
        if !hasWriters { settle(inode, file) }
    }

    /// Stores the remaining extents of a partial file before it is truncated. The file stays
    /// partial until then, since the size of a whole file is that of its content file.
    private func storeCut(_ inode: InodeNumber, _ state: OpenFile.State) throws(Blocked) {
        let (size, present) = (state.size, state.present)
        try store.write { database in
            try database.setPartial(inode, size: size)
            try database.setExtents(present, of: inode)
        }
    }

    func synchronize(_ inode: InodeNumber) throws(Blocked) {
        if let file = files.existing(inode) {
            try durability.rewrite(file)
            let (content, before) = file.state.withLock { state in
                // The next write marks the file unsafe again.
                state.isMarkedUnsafe = false
                return (state.file, state.counts)
            }
            try durability.synchronize(inode, content)
            try durability.noteSynchronized(file, since: before)
        }
        try store.synchronize()
        let isFailed = try store.readBriefly { try $0.pending(inode)?.failure?.isFinal == true }
        guard isFailed, let failure = try store.write({ try $0.takeUnreportedFailure(of: inode) })
        else { return }
        throw .failure(
            failure.kind, "upload inode \(inode): \(failure.what): \(failure.why)",
            remedy: failure.remedy)
    }

    /// Sets a content file's modification time to the file's, so that a time set by a program
    /// survives a kill.
    func storeTime(_ inode: InodeNumber, _ state: OpenFile.State) throws(Blocked) {
        try onDisk("set the time of inode \(inode)", do: state.file.setModified(state.modified))
    }

    /// Prepares a change of content: uploads no longer read the range, and the inode becomes
    /// pending.
    private func beginChange(
        of range: Range<UInt64>, _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) {
        state.counts.changes += 1
        try snapshots.requirePreserved(range, inode, &state)
        let rules = configuration.longWriterRules
        if state.isChanged {
            state.longWriter.noteChange(at: clock.uptime, rules)
            return try durability.markUnsafe(inode, &state)
        }
        if state.writers == 0 { try markWriting(inode, &state) }
        try durability.markUnsafe(inode, &state)
        // A file that stays open for writing is uploaded periodically.
        let isFirst = state.longWriter.due == nil
        let due = agenda.due(after: rules.interval)
        try store.write {
            try $0.markPending(inode, at: clock.wallTime, due: isFirst ? due : nil)
        }
        state.isChanged = true
        state.longWriter.noteChange(at: clock.uptime, rules)
        if isFirst { agenda.notify(due: due) } else { agenda.notify() }
    }

    /// Stores a file's size, time and a new generation in the database if its content changed. A file
    /// that is not marked as being written is only read there.
    ///
    /// - Returns: The stored inode.
    func storeVersion(
        _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) -> InodeRecord {
        let record: InodeRecord
        if state.isMarkedWriting {
            record = try writeVersion(inode, state)
            if record.presence != .remote { space.cache.noteRecorded(&state) }
        } else {
            record = try store.readInTurn { try $0.existingInode(inode) }
        }
        state.isChanged = false
        state.isMarkedWriting = record.isWriting && state.isMarkedWriting
        // From now on the file may be synchronised, which makes it safe.
        if !state.isMarkedWriting {
            state.isMarkedUnsafe = false
            state.longWriter = LongWriter()
        }
        return record
    }

    private func writeVersion(
        _ inode: InodeNumber, _ state: OpenFile.State
    ) throws(Blocked) -> InodeRecord {
        let (isChanged, size, modified) = (state.isChanged, state.size, state.modified)
        let changed = max(modified, state.changed)
        let (isWriting, bytes) = (state.writers > 0, state.bytesUsed)
        return try store.write { database in
            let former = try database.existingInode(inode)
            var record = former
            if record.presence != .remote { try database.setLocalBytes(bytes, of: inode) }
            record.size = size
            // Without a write, the database may have the newer time.
            if isChanged {
                record.modified = modified
                record.changed = max(record.changed, changed)
                record.generation += 1
            }
            record.isWriting = isWriting
            try database.update(record, from: former)
            if isChanged {
                try database.record(.changed, on: .local, inode, at: clock.wallTime)
            }
            if !isWriting {
                let delay = configuration.settleTime(ofBytes: record.size)
                try database.enqueue([inode], due: agenda.due(after: delay))
            }
            return record
        }
    }

    /// Stores in the database which bytes are local.
    func storePresence(_ inode: InodeNumber, _ state: inout OpenFile.State) throws(Blocked) {
        let presence = state.presence
        guard presence != .remote || state.stored != .remote || state.isMarkedWriting else {
            return
        }
        // A truncated file has to keep its size and tail, even if nothing else is local.
        let kept: Presence = presence == .whole ? .whole : .partial
        guard kept != state.stored || kept == .partial else { return }
        let (size, present, bytes) = (state.size, state.present, state.bytesUsed)
        state.counts.stored += 1
        let isSafe = try synchronizeIfOwed(inode, state)
        let isMarkOwed = try store.write { database in
            guard let former = try database.inode(inode) else { return false }
            var record = former
            try database.setLocalBytes(bytes, of: inode)
            if kept == .partial, record.presence == kept, record.size == size,
                try database.extents(of: inode) == present
            {
                return false
            }
            // A power cut before this commit is on the disk leaves what the database has now: if
            // that is nothing, new bytes are discarded; bytes of before would be trusted.
            let isMarkOwed =
                try !isSafe && database.markUnsafe(inode, isChanged: false)
                && record.presence != .remote
            record.presence = kept
            record.size = size
            try database.update(record, from: former)
            try database.setExtents(kept == .whole ? ExtentSet() : present, of: inode)
            return isMarkOwed
        }
        state.stored = kept
        if isMarkOwed { try store.synchronize() }
        space.cache.noteRecorded(&state)
    }

    /// Synchronises a file before the database records more of it as local, if it has local changes
    /// that are safe or were synchronised by a program. After a power cut such a file keeps
    /// everything that the database records of it, so all of that must be safe too.
    ///
    /// - Returns: Whether all of it is safe now.
    private func synchronizeIfOwed(
        _ inode: InodeNumber, _ state: OpenFile.State
    ) throws(Blocked) -> Bool {
        let (isFsynced, isSafe, isUnstored) = try store.readBriefly { database in
            let isSafe = try database.isPending(inode) && !database.isUnsafe(inode)
            return (try database.isFsynced(inode), isSafe, try database.isUnstored(inode))
        }
        guard isFsynced || isSafe else { return false }
        try durability.suspects.rewrite(inode, state)
        if isUnstored {
            // It can still be completed and uploaded, but holes must not pass for synchronised bytes.
            try store.write { try $0.forgetFsynced(inode) }
            return false
        }
        try durability.synchronize(inode, state.file)
        return isSafe
    }
}
