import Engine

/// Sets attributes: a file is copied onto itself, the marker of a directory is written again.
struct S3AttributeWriter: Sendable {
    let tree: S3Tree
    let directories: S3Directories
    let copier: S3Copier

    func set(
        _ attributes: ObjectAttributes, on key: ObjectKey, etag: ETag?, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        guard key != .root else {
            throw S3Failure.unsupported("the root has no attributes of its own", attempt)
        }
        let node = try await tree.requireNode(at: key, attempt)
        try node.check(etag, attempt)
        let conditions = try await copier.probe.conditions(attempt)
        var metadata = node.head?.metadata ?? S3Metadata()
        metadata.set(attributes, kind: node.kind)
        let place = tree.keys.place(of: key)
        guard !place.isMarkerBytes else { throw S3Failure.markerBytes(attempt) }
        guard case .object(let head) = node, let file = place.file else {
            return try await set(metadata, onDirectory: key, place, attempt)
        }
        let copied = try await copier.copy(
            file, head, to: file, metadata: metadata, conditions.onCopy(.version(head.etag)),
            attempt)
        guard let after = try await tree.client.head(file, attempt) else {
            throw S3Failure.missing(attempt)
        }
        // Another version was written by another client since.
        guard after.etag == copied else { throw S3Failure.changed(attempt) }
        return try await tree.object(key, .object(after), attempt)
    }

    private func set(
        _ metadata: S3Metadata, onDirectory key: ObjectKey, _ place: S3KeyMap.Place,
        _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        guard !place.isBeginning else {
            throw S3Failure.unsupported("it is only the first part of a long key", attempt)
        }
        // Written again, since not every store copies markers.
        guard try await directories.putUnlessFile(place.marker, metadata, nil, attempt) else {
            throw S3Failure.unsupported(
                "a file has its name, and not every store keeps both objects",
                remedy: "rename the directory or the file", attempt)
        }
        return try await tree.directory(key, marker: place.marker, attempt)
    }
}
