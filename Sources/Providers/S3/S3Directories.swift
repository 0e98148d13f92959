import Engine

/// Creates and keeps the empty objects, markers, that stand for directories.
struct S3Directories: Sendable {
    let tree: S3Tree
    let rules: S3KeyRules

    private var client: S3Client { tree.client }

    func create(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        guard key != .root else { throw S3Failure.exists }
        _ = try await rules.fileKey(key)
        let conditions = try await rules.probe.conditions()
        try await tree.checkNew(key, looksForFile: true)
        let marker = tree.keys.place(of: key).marker
        let metadata = S3Metadata(attributes: attributes, kind: .directory)
        do throws(ProviderError) {
            try await put(marker, metadata, conditions.onPut(.absent))
        } catch {
            guard error.kind == .changed else { throw error }
            // Either another client was faster, or SeaweedFS has kept a folder of its own after
            // others removed its last object. No listing shows that folder, so nothing is lost.
            try await tree.checkNew(key, looksForFile: true)
            try await put(marker, metadata, nil)
        }
        return try await tree.directory(key, marker: marker)
    }

    func put(
        _ marker: S3Key, _ metadata: S3Metadata, _ condition: S3Condition?
    ) async throws(ProviderError) {
        try S3KeyRules.checkText(marker)
        let headers = metadata.headers + [("Content-Type", metadata.directoryContentType)]
        _ = try await client.put(marker, [], headers: headers, condition)
    }

    /// Writes a marker unless a file has its name, which SeaweedFS would replace. It does honour
    /// the condition that nothing exists.
    ///
    /// - Returns: Whether the marker was written.
    func putUnlessFile(
        _ marker: S3Key, _ metadata: S3Metadata, _ condition: S3Condition?
    ) async throws(ProviderError) -> Bool {
        let file = S3Key(Array(marker.bytes.dropLast()))
        if condition != .absent, !file.bytes.isEmpty, try await client.head(file) != nil {
            return false
        }
        try await put(marker, metadata, condition)
        return true
    }

    /// Removes the bytes of a marker but keeps the marker, without which the directory might vanish.
    ///
    /// - Throws: `.changed`.
    func removeBytes(
        of marker: S3Key, _ head: S3Head, _ conditions: S3Conditions
    ) async throws(ProviderError) {
        try await put(marker, head.metadata.ofNewBytes, conditions.onPut(.version(head.etag)))
    }

    func removeMarkers(of place: S3KeyMap.Place) async throws(ProviderError) {
        try await client.delete(place.marker, etag: nil)
        if try await client.head(place.folderMarker) != nil {
            try await client.delete(place.folderMarker, etag: nil)
        }
    }

    /// A directory with fewer entries gets a marker before one is removed, since as many may be
    /// removed at the same time.
    private static let fewEntries = 128
    /// A listing of that many serves as many deletions more.
    private static let countedEntries = 512

    /// Makes sure that the parent of `key` does not vanish with its last object.
    func keepParent(of key: ObjectKey) async throws(ProviderError) {
        guard let parent = key.parent, parent != .root else { return }
        let place = tree.keys.place(of: parent)
        // The directory that its key lies in is further up.
        if place.isBeginning { return try await keepParent(of: parent) }
        try await tree.recentListings.keepDirectory(parent, by: client.clock) {
            () async throws(ProviderError) in try await keepMarker(of: place)
        }
    }

    /// - Returns: How many entries may be removed before the next look.
    private func keepMarker(of place: S3KeyMap.Place) async throws(ProviderError) -> Int {
        // Objects further down do not count: their own directories may go as a whole.
        let listing = try await client.list(
            prefix: place.directory, delimiter: true, max: Self.countedEntries)
        if listing.objects.first?.key == place.marker { return .max }
        let entries = listing.objects.count + listing.prefixes.count
        guard entries < Self.fewEntries else { return entries - Self.fewEntries }
        // Other clients have removed it, with the object in question.
        if entries == 0 { return 0 }
        do throws(ProviderError) {
            _ = try await putUnlessFile(
                place.marker, S3Metadata(),
                try await rules.probe.conditions().onPut(.absent))
        } catch {
            guard error.kind == .changed else { throw error }
            // Either another call was faster, or SeaweedFS has kept a folder of its own.
            guard try await tree.firstKey(below: place) != place.marker else { return .max }
            _ = try await putUnlessFile(place.marker, S3Metadata(), nil)
        }
        return 0
    }
}
