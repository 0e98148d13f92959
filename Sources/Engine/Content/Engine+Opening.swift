import Logging
import Synchronization

// From the first handle of a file to the last.

extension Engine {
    /// What a handle may do.
    package enum Access: UInt64, Sendable {
        case read = 0
        case write = 1
    }

    /// Opens a file; each success is followed by one ``release(_:access:)`` with the same access.
    ///
    /// If an upload is reading the file and `access` is `.write`, its snapshot is taken before this
    /// returns (I3).
    ///
    /// - Parameter truncating: POSIX: `O_TRUNC`.
    /// - Throws: `.notFound`, `.isDirectory`, `.outOfSpace`, `.readOnly`; `.changedRemotely` where
    ///   the remote has another version, or no file: whoever knows the number looks its name up again.
    package func open(
        _ inode: InodeNumber, access: Access, truncating: Bool
    ) throws(Halt) {
        if access == .write { try requireWritable("open inode \(inode) for writing") }
        let file = truncating ? try retainToEmpty(inode) : try retain(inode)
        do throws(Halt) {
            if !truncating { try requireVersion(of: file, for: access) }
            if access == .read { return try requireKind(of: file) }
            try file.withState { state throws(Halt) in
                detachFrozen(&state)
                try markWriting(inode, &state)
                state.writers += 1
            }
        } catch {
            releaseUse(of: inode)
            throw error
        }
        guard truncating else { return }
        do throws(Halt) {
            try truncate(inode, to: 0)
        } catch {
            release(inode, access: .write)
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
    private func requireVersion(of file: OpenFile, for access: Access) throws(Halt) {
        guard isNothingHere(of: file) else { return }
        let now = clock.uptime
        guard !looks.isVain(file.inode, at: now), !isOutOfReach(at: now),
            try !store.read({ try $0.isPending(file.inode) })
        else { return }
        throw .awaits(.version(file.inode, access))
    }

    private func isNothingHere(of file: OpenFile) -> Bool {
        file.state.withLock { state in
            !state.isMarkedWriting && state.size > 0
                && state.present.gaps(in: 0..<state.size) == [0..<state.size]
        }
    }

    /// Returns once the remote has given the first bytes of the version that is known.
    ///
    /// - Throws: `ProviderError`, `EngineError`; `.changedRemotely` where it has another version.
    func awaitVersion(of inode: InodeNumber, for access: Access) async throws {
        let file = try retainForTransfer(inode)
        defer { releaseUse(of: inode) }
        guard isNothingHere(of: file) else { return }
        do {
            // Whoever only reads is likely to go on.
            try await fetch(
                file, 0..<1, pieceBytes: Self.demandBytes, fillsRest: access == .read)
        } catch let error as ProviderError where access == .write {
            switch error.kind {
            case .changed, .missing, .wrongKind:
                // Also where it has none: whoever may create it finds that out by its name.
                throw EngineError(.changedRemotely, error.attempt, cause: error)
            case .cancelled: throw error
            default:
                // What is written meanwhile is kept, and brought together with it later.
                giveUpLook(at: inode)
            }
        }
    }

    /// What a listing calls a file may be a symbolic link, and reading tells. Whoever had it open
    /// by then could not be told; who opens it now is sent to look again. As its bytes are wanted
    /// next, this asks for nothing that would not be asked for anyway.
    private func requireKind(of file: OpenFile) throws(Halt) {
        // What was changed here is a file.
        let size = file.state.withLock { $0.stored != .remote || $0.isWhole ? 0 : $0.size }
        guard (1...UInt64(Self.targetBytesMax)).contains(size) else { return }
        let isKnown = try store.read { database in
            try database.existingInode(file.inode).isDetailed || database.isPending(file.inode)
        }
        guard isKnown else { throw .awaits(.content(file.inode, 0..<size)) }
    }

    /// The handle of one ``open(_:access:truncating:)`` or ``createFile(_:in:mode:caller:)`` is gone.
    package func release(_ inode: InodeNumber, access: Access) {
        if access == .write, let file = files.existing(inode) {
            let isLast = file.state.withLock { state in
                state.writers -= 1
                return state.writers == 0
            }
            if isLast { settle(inode, file) }
        }
        releaseUse(of: inode)
    }

    /// Before a handle may write: the database knows, so that a crash in between is found, and a
    /// change on the remote does not take the inode away from under it.
    ///
    /// - Throws: `.changedRemotely` for an inode that lost its name to the remote meanwhile: the
    ///   kernel then looks the name up again.
    func markWriting(
        _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Halt) {
        guard !state.isMarkedWriting else { return }
        // After a kill the content file's time tells when it was written last.
        try storeTime(inode, state)
        try store.write { database in
            guard try database.existingInode(inode).links > 0 else {
                throw Halt.failure(.changedRemotely, "open inode \(inode) for writing")
            }
            try database.markWriting(inode)
        }
        state.isMarkedWriting = true
    }

    /// After the last writer: the new version is complete, and due after its settle time.
    func settle(_ inode: InodeNumber, _ file: OpenFile) {
        do throws(Halt) {
            try file.withState { state throws(Halt) in
                guard state.writers == 0, state.isMarkedWriting else { return }
                // Others may have it open for long, and the remote may have lost it meanwhile.
                try storePresence(inode, &state)
                _ = try storeVersion(inode, &state)
            }
        } catch {
            // It stays marked as being written; the synchroniser tries again.
            logger.warning(
                "closed file not stored yet", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
        enqueue(inode, after: configuration.settleTime)
    }
}
