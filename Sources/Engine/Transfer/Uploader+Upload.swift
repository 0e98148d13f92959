import Synchronization

extension Uploader {
    /// Sends a snapshot of the content (I3), if the store holds the expected version (I4).
    func upload(
        _ state: SyncState, to place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws {
        let inode = state.inode
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        // A partly rewritten file is sent whole: the rest comes from the version that it is based
        // on, and from no other.
        let isWhole = file.state.withLock(\.isWhole)
        guard isWhole else {
            throw ProviderError(
                .busy, attempt: "send inode \(inode)", reason: "it is not completely fetched yet")
        }
        let (frozen, record) = try content.freeze(file)
        defer { content.thaw(frozen, of: file) }
        let attributes = ObjectAttributes(
            modified: record.modified, mode: record.mode,
            extendedAttributes: try store.read { try $0.extendedAttributes(of: inode) })
        let digest = try gate.traits.tellsOwnVersions ? nil : digest(of: frozen)
        let intent = IntentRecord(
            parent: place.parent, name: place.name, size: frozen.size, mode: record.mode,
            extendedAttributes: attributes.extendedAttributes, modified: record.modified,
            generation: record.generation, replaced: replaced, digest: digest)
        // It may have been unlinked during the fetch.
        let isWanted = try begin(intent, of: inode) { try $0.dirent(of: inode) != nil }
        guard isWanted else { return }
        let session = try await sweeper.uploadSession(
            of: inode, generation: record.generation, to: place.key, base: base)
        progress.sentBytes.withLock {
            $0.begin(inode, generation: record.generation, goesOn: session.token != nil)
        }
        let object = try await progress.tracking(inode, .upload, bytes: frozen.size) {
            try await gate.write(
                place.key, from: frozen, attributes: attributes, base: base, session: session)
        }
        progress.sentBytes.withLock { $0.end(inode) }
        let generation = record.generation
        try commit(
            object, of: inode, at: place, sent: attributes, generation: generation,
            replaced: replaced, isUpload: true)
    }

    private func digest(of frozen: FrozenContent) throws(ProviderError) -> ContentDigest {
        do {
            return try ContentDigest(of: frozen)
        } catch {
            throw ProviderError(
                .source, attempt: "digest the content to be sent", reason: "\(error)", cause: error)
        }
    }
}
