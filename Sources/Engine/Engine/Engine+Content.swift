import Synchronization

extension Engine {
    /// Returns the bytes from `offset` on that exist, at most `length`.
    ///
    /// - Parameter access: That of the handle.
    /// - Throws: `.isDirectory`, `.notFound`.
    package func read(
        _ inode: InodeNumber, at offset: UInt64, length: Int, access: FileAccess = .read
    ) throws(Blocked) -> ReadableRange {
        try local.content.read(inode, at: offset, length: length, isScan: access == .scan)
    }

    /// Writes all of `bytes`. The inode is dirty in the database before this returns (I1).
    ///
    /// - Parameter clearsSetID: Whether the writer may not keep the set-user-ID and set-group-ID bits.
    /// - Throws: `.outOfSpace`, `.tooLarge`, `.readOnly`.
    package func write(
        _ inode: InodeNumber, _ bytes: UnsafeRawBufferPointer, at offset: UInt64,
        clearsSetID: Bool = false
    ) throws(Blocked) {
        if clearsSetID { try clearSetID(of: inode) }
        do throws(Blocked) {
            try local.content.write(inode, bytes, at: offset)
        } catch {
            // The kernel takes a failed write for none; it may have failed after the bytes.
            if case .failure = error { local.kernelCache.announce([.attributes(inode)]) }
            throw error
        }
    }

    /// Releases the handle of one ``open(_:access:truncating:)`` or
    /// ``createFile(_:in:mode:caller:)``.
    package func release(_ inode: InodeNumber, access: FileAccess) {
        local.content.release(inode, access: access)
    }

    /// Makes the written bytes survive power loss (I1). Also for directories.
    ///
    /// - Throws: A permanent failure to upload them that has not been reported to a program, once
    ///   they are on the disk: `.denied`, `.outOfSpace`, and so on.
    package func synchronize(_ inode: InodeNumber) throws(Blocked) {
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

    /// Opens a file; each success is followed by one ``release(_:access:)`` with the same access.
    ///
    /// If an upload is reading the file, `access` is `.write` and the disk can share bytes, the
    /// upload has its own clone when this returns (I3).
    ///
    /// - Parameters:
    ///   - truncating: POSIX: `O_TRUNC`.
    ///   - clearsSetID: As of ``write(_:_:at:clearsSetID:)``, for a truncation.
    ///   - program: Returns the name of the program that opens it; called only if bytes are missing.
    /// - Throws: `.notFound`, `.isDirectory`, `.outOfSpace`, `.readOnly`; `.changedRemotely` if the
    ///   remote has another version, or no file: the kernel then looks the name up again.
    package func open(
        _ inode: InodeNumber, access: FileAccess, truncating: Bool, clearsSetID: Bool = false,
        by program: () -> String? = { nil }
    ) throws(Blocked) {
        if access == .write { try configuration.requireWritable("open inode \(inode) for writing") }
        let file = try local.content.retainToOpen(inode, toEmpty: truncating)
        if !truncating, file.isMissingBytes, let program = program() {
            transfer.downloader.fetched.programs.withLock { $0.noteOpen(of: inode, by: program) }
        }
        do throws(Blocked) {
            if !truncating { try requireVersion(of: file, for: access) }
            if access != .write { return try requireKind(of: file) }
            if truncating {
                try local.content.snapshots.requirePreserved(0..<ExtentSet.endMax, of: file)
            }
            try local.content.addWriter(to: file)
        } catch {
            local.content.releaseUse(of: inode)
            throw error
        }
        guard truncating else { return }
        do throws(Blocked) {
            if clearsSetID { try clearSetID(of: inode) }
            try local.content.truncate(inode, to: 0, isOpening: true)
        } catch {
            local.content.release(inode, access: .write)
            // The kernel takes a failed open for no change, and keeps size and bytes.
            local.kernelCache.announce([.inode(inode)])
            throw error
        }
    }

    /// Waits, when a file without local bytes is opened, for its first bytes: with them the remote
    /// reports whether it still has the listed version.
    ///
    /// A program that learns of a change from a read takes it for the end of the file or for
    /// damage, and bytes that it appends to a deleted version do not fit the new one. If the kernel
    /// learns of it during open, it looks the name up again and opens the current version. The
    /// bytes are needed next, so this costs no extra request. A writer waits for all of a small file,
    /// see ``ContentStore/awaited(of:for:)``. Files with local changes are opened
    /// as they are, and so are all files while the remote is unreachable: the program may not
    /// intend to read.
    func requireVersion(of file: OpenFile, for access: FileAccess) throws(Blocked) {
        guard local.content.awaited(of: file, for: access) != nil else { return }
        let now = clock.uptime
        guard !remote.metadata.isInBackoff(file.inode, at: now), !remote.gate.isOutOfReach(at: now),
            try !store.readBriefly({ try $0.isOnlyHere(file.inode) })
        else { return }
        throw .awaits(.version(file.inode, access))
    }

    /// Whether some bytes of an open file are not here.
    package func isMissingBytes(_ inode: InodeNumber) -> Bool {
        local.files.existing(inode)?.isMissingBytes ?? false
    }

    /// Whether some bytes of an open file are neither here nor on the remote any more, since both
    /// sides changed it before it was whole here.
    ///
    /// The kernel's cache reads whole pages, which fails for those that are only partly here.
    package func hasLostBytes(_ inode: InodeNumber) -> Bool {
        guard let file = local.files.existing(inode),
            file.state.withLock({ $0.stored == .partial && !$0.isWhole })
        else { return false }
        return (try? store.read { try $0.synced(inode)?.etag == nil }) ?? false
    }

    /// Checks whether an item that was listed as a file is a symbolic link, which only reading
    /// shows. Programs that have it open by then cannot be told; those that open it now are made to
    /// look it up again.
    private func requireKind(of file: OpenFile) throws(Blocked) {
        // An item with local changes is a file.
        let size = file.state.withLock { $0.stored != .remote || $0.isWhole ? 0 : $0.size }
        guard (1...UInt64(Tree.targetBytesMax)).contains(size) else { return }
        let isKnown = try store.readBriefly { database in
            try database.existingInode(file.inode).hasMetadata || database.isOnlyHere(file.inode)
        }
        guard isKnown else { throw .awaits(.content(file.inode, 0..<size)) }
    }

    /// Returns the whole content of an open file, for the kernel to read by itself. All of it stays local
    /// while the lease is held, and does not change.
    ///
    /// - Parameter bytesMin: The minimum size of the file.
    /// - Returns: nil if the file may be written here, or its bytes are not all local and checked.
    package func lend(_ inode: InodeNumber, bytesMin: UInt64) -> ReadableRange? {
        guard configuration.isReadOnly, let file = local.files.existing(inode),
            !transfer.downloader.wholeFileCheck.isAwaited(inode)
        else { return nil }
        return local.content.lend(file, bytesMin: bytesMin)
    }

    /// Returns a public address of an item as it is on the remote.
    ///
    /// - Throws: `.busy` while the item or its place has changes that are not uploaded yet;
    ///   `.unsupported` if the remote has no public links; otherwise the remote's error.
    package func publicLink(to inode: InodeNumber) async throws(EngineError) -> String {
        let key = try completed { () throws(Blocked) in
            try store.readBriefly { database in
                let path = ObjectKey(try database.path(of: inode))
                if try database.isExcluded(inode) {
                    throw Blocked.failure(
                        .unsupported, "create a link to \"\(path)\", which --exclude keeps here")
                }
                guard try !database.isPending(inode), try database.remoteKey(of: inode) == path
                else {
                    throw Blocked.failure(
                        .busy,
                        "create a link to \"\(path)\", which has changes that are not on the remote",
                        remedy: "run `apus sync` first")
                }
                return path
            }
        }
        do throws(ProviderError) {
            return try await remote.gate.publicLink(to: key)
        } catch {
            throw EngineError(error)
        }
    }
}
