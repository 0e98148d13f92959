import Engine

/// Moves and renames files, symbolic links and directories: S3 can only copy and delete.
struct S3Mover: Sendable {
    let tree: S3Tree
    let directories: S3Directories
    let copier: S3Copier
    let remover: S3Remover

    private var client: S3Client { tree.client }

    /// As ``Provider/move(_:etag:to:base:continues:nonce:noteCopies:)``.
    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        guard key != .root, destination != .root else {
            throw S3Failure.unsupported("the root cannot be moved or replaced")
        }
        guard let node = try await tree.node(at: key) else {
            // The answer to the last step of an earlier call may have been lost.
            if continues, etag == nil,
                let moved = try await tree.node(at: destination), moved.kind == .directory
            {
                return try await tree.object(destination, moved)
            }
            throw S3Failure.missing
        }
        try node.check(etag)
        guard key != destination else { return try await tree.object(key, node) }
        if case .object(let head) = node {
            return try await moveObject(key, head, to: destination, base, nonce)
        }
        guard !destination.names.starts(with: key.names) else {
            throw S3Failure.unsupported("a directory cannot move below itself")
        }
        guard case .absent = base else {
            throw ProviderError(.wrongKind, "a directory cannot replace a file")
        }
        return try await moveDirectory(
            key, node.head, to: destination, continues: continues, noteCopies)
    }

    // MARK: One object

    private func moveObject(
        _ key: ObjectKey, _ head: S3Head, to destination: ObjectKey, _ base: BaseVersion,
        _ nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        let target = try await directories.rules.fileKey(destination, base: base)
        let place = tree.keys.place(of: key)
        guard let source = place.file else { throw S3Failure.missing }
        let conditions = try await copier.probe.conditions()
        _ = try await tree.checkBase(base, at: destination, looksForFile: !conditions.copyIfAbsent)
        if key.parent != destination.parent {
            try await directories.keepParent(of: key)
        }
        let metadata = metadata(of: head, nonce)
        let etag: ETag
        var isFound = false
        do throws(ProviderError) {
            etag = try await copier.copy(
                source, head, to: target, metadata: metadata, conditions.onCopy(S3Condition(base)))
        } catch {
            guard error.kind == .changed || error.kind == .missing else { throw error }
            // Find out whether the source or the destination is meant.
            guard let now = try await client.head(source) else {
                throw S3Failure.missing
            }
            if now.etag != head.etag { throw S3Failure.changed }
            // The request was repeated if its answer was lost; then its own copy was in the way.
            guard let there = try await client.head(target),
                there.isCopy(of: head, with: metadata)
            else { throw Self.refused(base) }
            (etag, isFound) = (there.etag, true)
        }
        guard let copied = try await client.head(target) else {
            throw ProviderError(.unreachable, "the copy is missing from its new place")
        }
        // Another client has replaced it; the source stays, so that nothing is lost.
        guard copied.etag == etag else { throw Self.refused(base) }
        try await removeSource(
            place, source, head, copy: base == .absent && !isFound ? target : nil, copied,
            conditions)
        return try await tree.object(destination, .object(copied))
    }

    /// Returns the metadata of a copy if it cannot be that of the source: if the copy gets an ETag of its
    /// own, only the nonce tells whose copy it is.
    private func metadata(of head: S3Head, _ nonce: WriteNonce?) -> S3Metadata? {
        guard let nonce, head.metadata.nonce != nonce, head.givesCopiesOtherETags else {
            return nil
        }
        var metadata = head.metadata
        if metadata.modified == nil { metadata.setModified(head.modified) }
        metadata.setNonce(nonce)
        return metadata
    }

    private static func refused(_ base: BaseVersion) -> ProviderError {
        base == .absent ? S3Failure.exists : S3Failure.changed
    }

    /// Deletes the source of a copy; if the source was changed at this moment, the copy instead.
    ///
    /// - Parameter copy: nil if the copy must not be deleted.
    private func removeSource(
        _ place: S3KeyMap.Place, _ source: S3Key, _ head: S3Head, copy: S3Key?, _ copied: S3Head,
        _ conditions: S3Conditions
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            if place.isMarkerBytes {
                try await directories.removeBytes(of: source, head, conditions)
            } else {
                try await remover.deleteVersion(source, head.etag, conditions)
            }
        } catch {
            guard error.kind == .changed else { throw Self.halfDone(error) }
            if let copy {
                try await client.delete(copy, etag: conditions.deleteIfVersion ? copied.etag : nil)
            }
            throw error
        }
    }

    /// Returns an error that leaves the outcome open, since the copy exists although its source
    /// could not be deleted: the caller must look again.
    private static func halfDone(_ error: ProviderError) -> ProviderError {
        switch error.kind {
        case .busy, .denied, .unauthorized, .full, .unsupported, .wrongKind:
            ProviderError(
                .unreachable, "copied, not deleted: \(error.reason)",
                retryAfter: error.retryAfter, cause: error)
        default: error
        }
    }

    // MARK: A directory

    private func moveDirectory(
        _ key: ObjectKey, _ marker: S3Head?, to destination: ObjectKey, continues: Bool,
        _ noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        let (from, to) = (tree.keys.place(of: key), tree.keys.place(of: destination))
        guard !from.isBeginning, !to.isBeginning else {
            throw S3Failure.unsupported(
                "it is only the first part of a long key",
                remedy: "restore its old name, and rename the files in it")
        }
        _ = try await directories.rules.fileKey(destination)
        let conditions = try await copier.probe.conditions()
        if continues, let parent = destination.parent {
            try await tree.checkParent(parent)
        } else {
            try await tree.checkNew(destination, looksForFile: true)
        }
        if key.parent != destination.parent {
            try await directories.keepParent(of: key)
        }
        let metadata = marker?.metadata ?? S3Metadata()
        guard try await directories.putUnlessFile(to.marker, metadata, nil) else {
            throw S3Failure.exists
        }
        if marker == nil {
            _ = try await directories.putUnlessFile(from.marker, metadata, nil)
        }
        var move = S3DirectoryMove(
            from: from, to: to, directories: directories, copier: copier, remover: remover,
            conditions: conditions, noteCopies: noteCopies)
        try await move.run()
        return try await tree.directory(destination, marker: to.marker)
    }
}
