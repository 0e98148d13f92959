import Engine

/// Sets attributes: a file is copied onto itself, the marker of a directory is written again.
struct S3AttributeWriter: Sendable {
    let tree: S3Tree
    let directories: S3Directories
    let copier: S3Copier

    func set(
        _ attributes: ObjectAttributes, only fields: AttributeFields, on key: ObjectKey,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        guard key != .root else {
            throw S3Failure.unsupported("the root has no attributes of its own")
        }
        let node = try await tree.requireNode(at: key)
        try node.check(etag)
        let conditions = try await copier.probe.conditions()
        var metadata = node.head?.metadata ?? S3Metadata()
        metadata.set(attributes, only: fields, kind: node.kind)
        // Otherwise the ETag stays, and so does the nonce, by which another mount may know its upload.
        if let nonce, node.head?.givesCopiesOtherETags == true { metadata.setNonce(nonce) }
        let place = tree.keys.place(of: key)
        guard !place.isMarkerBytes else { throw S3Failure.markerBytes }
        guard case .object(let head) = node, let file = place.file else {
            return try await set(metadata, onDirectory: key, place)
        }
        let copied = try await copier.copy(
            file, head, to: file, metadata: metadata, conditions.onCopy(.version(head.etag)))
        guard let after = try await tree.client.head(file) else {
            throw S3Failure.missing
        }
        // Another version was written by another client since.
        guard after.etag == copied else { throw S3Failure.changed }
        return try await tree.object(key, .object(after))
    }

    private func set(
        _ metadata: S3Metadata, onDirectory key: ObjectKey, _ place: S3KeyMap.Place
    ) async throws(ProviderError) -> RemoteObject {
        guard !place.isBeginning else {
            throw S3Failure.unsupported("it is only the first part of a long key")
        }
        // Written again, since not every store copies markers.
        guard try await directories.putUnlessFile(place.marker, metadata, nil) else {
            throw S3Failure.unsupported(
                "a file has its name, and not every store keeps both objects",
                remedy: "rename the directory or the file")
        }
        return try await tree.directory(key, marker: place.marker)
    }
}
