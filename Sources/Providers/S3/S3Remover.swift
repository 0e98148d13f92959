import Engine

/// Deletes files, symbolic links and empty directories.
struct S3Remover: Sendable {
    /// Objects that killed tests of a mount have left, five each, and that a directory may have when it is
    /// removed.
    private static let probesMax = 100

    let tree: S3Tree
    let directories: S3Directories
    let probe: S3ConditionProbe

    private var client: S3Client { tree.client }

    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        guard key != .root else {
            throw S3Failure.unsupported("the root cannot be deleted")
        }
        if kind == .file, let etag, try await deleteUnseen(key, etag) { return }
        guard let node = try await tree.node(at: key) else {
            if kind == .directory, try await removeEmptied(key) { return }
            throw S3Failure.missing
        }
        guard node.kind == kind else {
            throw ProviderError(.wrongKind, "it is not a \(kind)")
        }
        try node.check(etag)
        let conditions = try await probe.conditions()
        let place = tree.keys.place(of: key)
        guard case .object(let head) = node, let file = place.file else {
            return try await deleteDirectory(key, place)
        }
        if place.isMarkerBytes {
            return try await directories.removeBytes(of: file, head, conditions)
        }
        try await directories.keepParent(of: key)
        do throws(ProviderError) {
            try await client.delete(file, etag: conditions.deleteIfVersion ? head.etag : nil)
        } catch {
            // Some stores say so of an object that is gone, too.
            guard error.kind == .changed else { throw error }
            throw try await client.head(file) == nil
                ? S3Failure.missing : S3Failure.changed
        }
    }

    /// Deletes a version of a file without a look at it, if the store compares the version.
    ///
    /// - Returns: Whether it is deleted; if not, a look finds the reason.
    private func deleteUnseen(_ key: ObjectKey, _ etag: ETag) async throws(ProviderError) -> Bool {
        let place = tree.keys.place(of: key)
        guard let file = place.file, !place.isMarkerBytes,
            try await probe.conditions().deleteIfVersion
        else { return false }
        try await directories.keepParent(of: key)
        do throws(ProviderError) {
            try await client.delete(file, etag: etag)
            return true
        } catch {
            guard error.kind == .changed || error.kind == .missing else { throw error }
            return false
        }
    }

    private func deleteDirectory(
        _ key: ObjectKey, _ place: S3KeyMap.Place
    ) async throws(ProviderError) {
        let below = try await client.list(
            prefix: place.directory, delimiter: false, max: Self.probesMax)
        let others = below.objects.filter { $0.key != place.marker || $0.size > 0 }
        let probes = others.filter {
            S3Probe.isProbe($0.key.bytes.dropFirst(place.directory.bytes.count))
        }
        guard probes.count == others.count, below.next == nil, !place.isBeginning else {
            throw ProviderError(.notEmpty, "the directory is not empty")
        }
        for probe in probes { try await client.remove(probe.key) }
        try await directories.keepParent(of: key)
        try await directories.removeMarkers(of: place)
    }

    /// Removes a folder that others have emptied, which SeaweedFS still lists in its parent.
    ///
    /// - Returns: Whether there was one.
    private func removeEmptied(_ key: ObjectKey) async throws(ProviderError) -> Bool {
        let place = tree.keys.place(of: key)
        guard !place.isBeginning, !place.isMarkerBytes,
            try await client.head(place.marker) != nil
        else { return false }
        try await directories.keepParent(of: key)
        try await client.delete(place.marker, etag: nil)
        return true
    }

    /// Deletes one version of an object, if it still exists.
    ///
    /// - Throws: `.changed`.
    func deleteVersion(
        _ key: S3Key, _ etag: ETag, _ conditions: S3Conditions
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            if !conditions.deleteIfVersion {
                guard let now = try await client.head(key) else { return }
                if now.etag != etag { throw S3Failure.changed }
            }
            try await client.delete(key, etag: conditions.deleteIfVersion ? etag : nil)
        } catch {
            if error.kind == .missing { return }
            guard error.kind == .changed, try await client.head(key) == nil else {
                throw error
            }
        }
    }
}
