import Logging
import Synchronization

// The content of one moment, and how it is sent.

extension Engine {
    /// Sends the content of one moment (I3), if what the store holds is what we think (I4).
    func upload(
        _ state: SyncState, to place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws(ProviderError) {
        let inode = state.inode
        let file = try engineWork { () throws(EngineError) in try retainForTransfer(inode) }
        defer { releaseUse(of: inode) }
        // A file of which only a part was rewritten is sent whole: the rest has come from the
        // version that it is based on, and from no other.
        #if BUGS
            let isWhole = DeliberateBug.uploadWithHoles.isMade || file.state.withLock(\.isWhole)
        #else
            let isWhole = file.state.withLock(\.isWhole)
        #endif
        guard isWhole else {
            throw ProviderError(
                .busy, attempt: "send inode \(inode)", reason: "not all of it is here yet")
        }
        let (frozen, record) = try engineWork { () throws(Halt) in try freeze(file) }
        defer { thaw(frozen, of: file) }
        let attributes = ObjectAttributes(
            modified: record.modified, mode: record.mode,
            extendedAttributes: try engineWork { () throws(Halt) in
                try store.read { try $0.extendedAttributes(of: inode) }
            })
        let digest = try provider.traits.tellsOwnVersions ? nil : digest(of: frozen)
        let attempt = AttemptRecord(
            parent: place.parent, name: place.name, size: frozen.size, mode: record.mode,
            extendedAttributes: attributes.extendedAttributes, modified: record.modified,
            generation: record.generation, replaced: replaced, digest: digest)
        let isWanted = try engineWork { () throws(Halt) in
            // It may have been unlinked while the rest of it was fetched.
            try begin(attempt, of: inode) { try $0.dirent(of: inode) != nil }
        }
        guard isWanted else { return }
        #if BUGS
            var base = base
            if DeliberateBug.uploadWithoutCondition.isMade {
                base = (try? await provider.stat(place.key).etag).map { .version($0) } ?? .absent
            }
        #endif
        let session = try await uploadSession(
            of: inode, generation: record.generation, to: place.key, base: base)
        sentBytes.withLock {
            $0.begin(inode, generation: record.generation, goesOn: session.token != nil)
        }
        let object = try await tracking(inode, .upload, bytes: frozen.size) {
            () async throws(ProviderError) in
            try await provider.write(
                place.key, from: frozen, attributes: attributes, base: base,
                session: session)
        }
        sentBytes.withLock { $0.end(inode) }
        #if BUGS
            var generation = record.generation
            if DeliberateBug.countLaterWritesAsSent.isMade,
                let now = try? store.read({ try $0.inode(inode) })
            {
                generation = now.generation
            }
        #else
            let generation = record.generation
        #endif
        try commit(
            object, of: inode, at: place, sent: attributes, generation: generation,
            replaced: replaced)
        try engineWork { () throws(Halt) in try store.write { try $0.removeUpload(of: inode) } }
    }

    /// Takes the content of this moment and gives it its generation.
    private func freeze(
        _ file: OpenFile
    ) throws(Halt) -> (FrozenContent, InodeRecord) {
        try file.withState { state throws(Halt) in
            let record = try storeVersion(file.inode, &state)
            let frozen = FrozenContent(
                state.file, size: state.size,
                clonePath: DiskPath(
                    "\(StateFiles.frozenFolder)/\(file.inode)-\(record.generation)"))
            if state.writers > 0 {
                try onDisk("freeze inode \(file.inode)") { () throws(DiskError) in
                    frozen.detach(to: try disk.clone(state.file, to: frozen.clonePath))
                }
            } else {
                state.frozen.append(frozen)
            }
            return (frozen, record)
        }
    }

    private func digest(of frozen: FrozenContent) throws(ProviderError) -> ContentDigest {
        do {
            return try ContentDigest(of: frozen)
        } catch {
            throw ProviderError(
                .source, attempt: "digest what is to be sent", reason: "\(error)", cause: error)
        }
    }

    private func thaw(_ frozen: FrozenContent, of file: OpenFile) {
        file.state.withLock { state in state.frozen.removeAll { $0 === frozen } }
        guard frozen.isDetached else { return }
        do throws(DiskError) {
            try disk.remove(frozen.clonePath)
        } catch {
            // It is removed at the next start.
            logger.warning("frozen content not removed", metadata: ["reason": "\(error.reason)"])
        }
    }

    /// Sends a file that stays open for writing.
    ///
    /// - Returns: Whether it was sent, and has to be planned again.
    func uploadOpenFile(_ state: SyncState, _ file: OpenFile) async throws -> Bool {
        file.state.withLock { $0.longWriterDue = clock.uptime + configuration.longWriterInterval }
        var settled = state
        settled.local?.isWriting = false
        // What was written since the last snapshot has no generation of its own yet.
        if file.state.withLock(\.isChanged) { settled.local?.generation += 1 }
        let plan = Planner.plan(settled)
        switch plan {
        case .upload: return try await perform(plan, state) == nil
        case .createAnew:
            // It was written to since its directory went.
            try finish(
                try store.write { database in
                    var changes = makeChanges()
                    try applyLocally(plan, state, &changes, database)
                    return changes
                })
            return true
        default: return false
        }
    }
}
