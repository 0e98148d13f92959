import GRDB
import Logging
import Synchronization

extension Engine {
    /// Returns the bytes from `offset` on that exist, at most `length`.
    ///
    /// - Throws: `.isDirectory`, `.notFound`.
    package func read(
        _ inode: InodeNumber, at offset: UInt64, length: Int
    ) throws(Halt) -> ReadableRange {
        try local.content.read(inode, at: offset, length: length)
    }

    /// Writes all of `bytes`. The inode is dirty in the database before this returns (I1).
    ///
    /// - Throws: `.outOfSpace`, `.tooLarge`, `.readOnly`.
    package func write(
        _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
    ) throws(Halt) {
        try local.content.write(inode, bytes, at: offset)
    }

    /// Releases the handle of one ``open(_:access:truncating:)`` or
    /// ``createFile(_:in:mode:caller:)``.
    package func release(_ inode: InodeNumber, access: FileAccess) {
        local.content.release(inode, access: access)
    }

    /// Makes the written bytes survive power loss (I1). Also for directories.
    ///
    /// - Throws: A permanent failure to upload them that no program has been told of, once they do:
    ///   `.denied`, `.outOfSpace`, and so on.
    package func synchronize(_ inode: InodeNumber) throws(Halt) {
        try local.content.synchronize(inode)
    }

    /// Drops the local bytes of a file, or of all files below a directory. Files that are not
    /// uploaded yet, or in use, are refused and stay.
    package func evict(_ inode: InodeNumber) throws(EngineError) -> EvictionReport {
        try local.space.evict(inode)
    }

    /// Returns the number of files in `lost+found/`, where this mount or a check has put them.
    package func lostAndFoundCount() throws(EngineError) -> Int {
        try local.lostAndFound.count()
    }

    /// A descriptor of the file was closed: what was written survives `kill -9` from here on (I1).
    ///
    /// It does already: every write marked the inode in the database before it was acknowledged, and
    /// its bytes are in the content file.
    package func flush(_ inode: InodeNumber) throws(Halt) {}

    /// Opens a file; each success is followed by one ``release(_:access:)`` with the same access.
    ///
    /// If an upload is reading the file and `access` is `.write`, its snapshot is taken before this
    /// returns (I3).
    ///
    /// - Parameter truncating: POSIX: `O_TRUNC`.
    /// - Throws: `.notFound`, `.isDirectory`, `.outOfSpace`, `.readOnly`; `.changedRemotely` where
    ///   the remote has another version, or no file: whoever knows the number looks its name up again.
    package func open(
        _ inode: InodeNumber, access: FileAccess, truncating: Bool
    ) throws(Halt) {
        if access == .write { try configuration.requireWritable("open inode \(inode) for writing") }
        let file =
            truncating ? try local.content.retainToEmpty(inode) : try local.content.retain(inode)
        do throws(Halt) {
            if !truncating { try requireVersion(of: file, for: access) }
            if access == .read { return try requireKind(of: file) }
            try local.content.addWriter(to: file)
        } catch {
            local.content.releaseUse(of: inode)
            throw error
        }
        guard truncating else { return }
        do throws(Halt) {
            try local.content.truncate(inode, to: 0)
        } catch {
            local.content.release(inode, access: .write)
            throw error
        }
    }

    /// Has a program that opens a file of which nothing is here wait for its first bytes: with them the
    /// remote says whether it still has the version that was listed.
    ///
    /// A program that is told so by a read takes that for the end of the file, or for a damaged one;
    /// and what it appends to a version that is gone fits to nothing. Where the kernel is told at the
    /// opening, it looks the name up again and opens what is there. As the bytes are wanted next, this
    /// asks for nothing that would not be asked for anyway. What was changed here is opened as it is,
    /// and everything is while the remote is out of reach: there may be something else to do with it
    /// than to read.
    private func requireVersion(of file: OpenFile, for access: FileAccess) throws(Halt) {
        guard local.content.isNothingHere(of: file) else { return }
        let now = clock.uptime
        guard !remote.metadata.isVain(file.inode, at: now), !remote.gate.isOutOfReach(at: now),
            try !store.read({ try $0.isPending(file.inode) })
        else { return }
        throw .awaits(.version(file.inode, access))
    }

    /// What a listing calls a file may be a symbolic link, and reading tells. Whoever had it open
    /// by then could not be told; who opens it now is sent to look again. As its bytes are wanted
    /// next, this asks for nothing that would not be asked for anyway.
    private func requireKind(of file: OpenFile) throws(Halt) {
        // What was changed here is a file.
        let size = file.state.withLock { $0.stored != .remote || $0.isWhole ? 0 : $0.size }
        guard (1...UInt64(Tree.targetBytesMax)).contains(size) else { return }
        let isKnown = try store.read { database in
            try database.existingInode(file.inode).isDetailed || database.isPending(file.inode)
        }
        guard isKnown else { throw .awaits(.content(file.inode, 0..<size)) }
    }
}
