package import Engine

extension S3Provider {
    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "create the directory \"\(key)\""
        try checkCancelled(attempt)
        guard key != .root else { throw exists(attempt) }
        _ = try await fileKey(key, attempt)
        let conditions = try await conditions(attempt)
        try await checkNew(key, looksForFile: true, attempt)
        let marker = keys.place(of: key).marker
        let metadata = S3Metadata(attributes: attributes, kind: .directory)
        do throws(ProviderError) {
            try await putMarker(marker, metadata, conditions.onPut(.absent), attempt)
        } catch {
            guard error.kind == .changed else { throw error }
            // Either somebody was faster, or SeaweedFS means a folder of its own that was left when
            // others took the last object out of it. No listing shows that, and nothing is lost with it.
            try await checkNew(key, looksForFile: true, attempt)
            try await putMarker(marker, metadata, nil, attempt)
        }
        return try await directory(key, marker, attempt)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "create the symbolic link \"\(key)\""
        try checkCancelled(attempt)
        guard (1...4095).contains(target.count), !target.contains(0) else {
            throw ProviderError(.unsupported, attempt: attempt, reason: "no link points there")
        }
        guard let name = key.names.last else { throw exists(attempt) }
        let file = try await fileKey(key, attempt)
        let conditions = try await conditions(attempt)
        try await checkNew(key, looksForFile: !conditions.putIfAbsent, attempt)
        let metadata = S3Metadata(attributes: attributes, kind: .symlink, target: target)
        let etag: ETag
        do throws(ProviderError) {
            etag = try await client.put(
                file, target, headers: newObjectHeaders(metadata), conditions.onPut(.absent),
                attempt)
        } catch {
            throw try await explained(error, key, file, .absent, attempt)
        }
        return RemoteObject(
            name: name, kind: .symlink, etag: etag, size: 0, modified: attributes.modified,
            mode: attributes.mode, target: target)
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "set the attributes of \"\(key)\""
        guard key != .root else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "the root stays as it is")
        }
        guard let found = try await look(key, attempt) else { throw missing(attempt) }
        try check(found, etag, attempt)
        let conditions = try await conditions(attempt)
        var metadata = found.head?.metadata ?? S3Metadata()
        metadata.set(attributes, kind: found.kind)
        let place = keys.place(of: key)
        guard !place.isMarkerBytes else { throw markerBytes(attempt) }
        guard case .object(let head) = found, let file = place.file else {
            guard !place.isBeginning else {
                throw ProviderError(
                    .unsupported, attempt: attempt, reason: "it is no directory of its own")
            }
            // Written anew, since not every store copies what stands for a directory.
            guard try await putMarkerAlone(place.marker, metadata, nil, attempt) else {
                throw ProviderError(
                    .unsupported, attempt: attempt,
                    reason: "a file has its name, and not every store keeps both objects",
                    remedy: "rename the directory or the file")
            }
            return try await directory(key, place.marker, attempt)
        }
        let etag = try await copy(
            file, head, to: file, metadata: metadata, conditions.onCopy(.version(head.etag)),
            attempt)
        guard let after = try await client.head(file, attempt) else { throw missing(attempt) }
        // What somebody else wrote since is not the version that we had.
        guard after.etag == etag else { throw changed(attempt) }
        return try await object(key, .object(after), attempt)
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        let attempt = "delete \"\(key)\""
        guard key != .root else {
            throw ProviderError(.unsupported, attempt: attempt, reason: "the root stays")
        }
        guard let found = try await look(key, attempt) else {
            if kind == .directory, try await removeEmptied(key, attempt) { return }
            throw missing(attempt)
        }
        guard found.kind == kind else {
            throw ProviderError(.wrongKind, attempt: attempt, reason: "it is no \(kind)")
        }
        try check(found, etag, attempt)
        let conditions = try await conditions(attempt)
        let place = keys.place(of: key)
        if case .object(let head) = found, let file = place.file {
            if place.isMarkerBytes {
                return try await emptyMarker(file, head, conditions, attempt)
            }
            try await keepParent(of: key, attempt)
            do throws(ProviderError) {
                try await client.delete(
                    file, etag: conditions.deleteIfVersion ? head.etag : nil, attempt)
            } catch {
                // Some stores say so of what is gone, too.
                guard error.kind == .changed else { throw error }
                throw try await client.head(file, attempt) == nil
                    ? missing(attempt) : changed(attempt)
            }
            return
        }
        let below = try await client.list(
            prefix: place.directory, delimiter: false, max: 8, attempt)
        let others = below.objects.filter { $0.key != place.marker || $0.size > 0 }
        let probes = others.filter {
            S3Probe.isProbe($0.key.bytes.dropFirst(place.directory.bytes.count))
        }
        guard probes.count == others.count, below.next == nil, !place.isBeginning else {
            throw ProviderError(.notEmpty, attempt: attempt, reason: "it holds something")
        }
        for probe in probes { try await client.delete(probe.key, etag: nil, attempt) }
        try await keepParent(of: key, attempt)
        try await client.delete(place.marker, etag: nil, attempt)
        if try await client.head(place.folderMarker, attempt) != nil {
            try await client.delete(place.folderMarker, etag: nil, attempt)
        }
    }

    // MARK: Directories

    /// Removes a folder that others have emptied: SeaweedFS goes on to list it in the one above.
    ///
    /// - Returns: Whether there was one.
    private func removeEmptied(
        _ key: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        let place = keys.place(of: key)
        guard !place.isBeginning, !place.isMarkerBytes,
            try await client.head(place.marker, attempt) != nil
        else { return false }
        try await keepParent(of: key, attempt)
        try await client.delete(place.marker, etag: nil, attempt)
        return true
    }

    /// Writes the object that stands for a directory.
    func putMarker(
        _ marker: S3Key, _ metadata: S3Metadata, _ condition: S3Condition?, _ attempt: String
    ) async throws(ProviderError) {
        try checkKey(marker, attempt)
        let headers = metadata.headers + [("Content-Type", metadata.directoryContentType)]
        _ = try await client.put(marker, [], headers: headers, condition, attempt)
    }

    /// Writes the object that stands for a directory, unless a file has its name: SeaweedFS would put
    /// it in the place of that. It heeds the condition that nothing is there.
    ///
    /// - Returns: Whether it was written.
    func putMarkerAlone(
        _ marker: S3Key, _ metadata: S3Metadata, _ condition: S3Condition?, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        let file = S3Key(Array(marker.bytes.dropLast()))
        if condition != .absent, !file.bytes.isEmpty, try await client.head(file, attempt) != nil {
            return false
        }
        try await putMarker(marker, metadata, condition, attempt)
        return true
    }

    /// Takes its bytes from a marker, which stays: with it the directory might go.
    ///
    /// - Throws: `.changed`.
    func emptyMarker(
        _ marker: S3Key, _ head: S3Head, _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) {
        try await putMarker(
            marker, head.metadata.ofNewBytes, conditions.onPut(.version(head.etag)), attempt)
    }

    /// A directory whose marker has just been written, as the store keeps it.
    func directory(
        _ key: ObjectKey, _ marker: S3Key, _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        try await object(key, .directory(try await client.head(marker, attempt)), attempt)
    }

    /// Below this number of objects a directory gets a marker before one is taken away: as many
    /// may be taken away at the same time.
    private static var fewObjects: Int { 64 }

    /// Sees to it that the parent of `key` does not vanish with the last object in it.
    func keepParent(of key: ObjectKey, _ attempt: String) async throws(ProviderError) {
        guard let parent = key.parent, parent != .root else { return }
        let place = keys.place(of: parent)
        // The directory that its key lies in is further up.
        if place.isBeginning { return try await keepParent(of: parent, attempt) }
        let listing = try await client.list(
            prefix: place.directory, delimiter: false, max: Self.fewObjects, attempt)
        guard listing.objects.first?.key != place.marker,
            listing.objects.count < Self.fewObjects
        else { return }
        do throws(ProviderError) {
            _ = try await putMarkerAlone(
                place.marker, S3Metadata(),
                try await conditions(attempt).onPut(.absent), attempt)
        } catch {
            guard error.kind == .changed else { throw error }
            // Either another call was faster, or SeaweedFS means the folder itself.
            let now = try await client.list(
                prefix: place.directory, delimiter: false, max: 1, attempt)
            guard now.objects.first?.key != place.marker else { return }
            _ = try await putMarkerAlone(place.marker, S3Metadata(), nil, attempt)
        }
    }

    /// Checks the version that the caller knows.
    func check(_ found: Found, _ etag: ETag?, _ attempt: String) throws(ProviderError) {
        guard (found.kind == .file) == (etag != nil) else {
            throw ProviderError(
                .wrongKind, attempt: attempt, reason: "it is not of the kind that was named")
        }
        if let etag, found.head?.etag != etag { throw changed(attempt) }
    }
}
