package import Engine

extension S3Provider {
    package func entries(of directory: ObjectKey) -> ListingCursor {
        let place = tree.keys.place(of: directory)
        let start = (fold: S3ListingFold(place), token: nil as String?)
        return ListingCursor(start) { [self] state async throws(ProviderError) in
            try S3Failure.checkCancelled()
            let listing = try await tree.client.list(
                prefix: place.directory, delimiter: true, token: state.token)
            state.fold.add(listing)
            state.token = listing.next
            if listing.next == nil, directory != .root, !state.fold.isPresent {
                try await checkDirectory(directory, place)
            }
            return ListingPage(objects: state.fold.entries.map(object), isLast: listing.next == nil)
        }
    }

    /// Checks that a directory exists, which an empty listing does not tell.
    private func checkDirectory(
        _ directory: ObjectKey, _ place: S3KeyMap.Place
    ) async throws(ProviderError) {
        if let file = place.file, try await tree.client.head(file) != nil {
            throw ProviderError(.wrongKind, "it is not a directory")
        }
        if !place.isBeginning, try await tree.client.head(place.folderMarker) != nil {
            return
        }
        throw S3Failure.missing
    }

    private func object(_ entry: S3ListingFold.Entry) -> RemoteObject {
        guard let object = entry.object else {
            return RemoteObject(
                name: entry.name, kind: .directory, etag: nil, size: 0,
                modified: Timestamp(nanoseconds: 0), mode: nil, hasMetadata: false)
        }
        return RemoteObject(
            name: entry.name, kind: .file, etag: object.etag, size: object.size,
            modified: object.modified, mode: nil, hasMetadata: false,
            remoteModified: object.modified)
    }
}
