package import Engine

extension S3Provider {
    package func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        try S3Failure.checkCancelled()
        let place = tree.keys.place(of: directory)
        let start = try S3PageToken(page)
        let listing = try await tree.client.list(
            prefix: place.directory, delimiter: true, token: start.token)
        var fold = S3ListingFold(place, seen: start.seen)
        fold.add(listing)
        if page == nil && directory != .root && !fold.isPresent && listing.next == nil {
            try await checkDirectory(directory, place)
        }
        let next = listing.next.map { S3PageToken(token: $0, seen: fold.seen).pageToken }
        return ListingPage(objects: fold.entries.map(object), next: next)
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
            modified: object.modified, mode: nil, hasMetadata: false, written: object.modified)
    }
}

/// Where a listing continues: the store's own token, and the parts that later names may begin with.
struct S3PageToken: Hashable, Sendable {
    var token: String?
    var seen: [S3ListingFold.Seen] = []

    init(token: String?, seen: [S3ListingFold.Seen]) {
        self.token = token
        self.seen = seen
    }

    init(_ page: PageToken?) throws(ProviderError) {
        guard let page else { return }
        // `SEEN,SEEN TOKEN`; SEEN is the kind's letter and the part in hexadecimal.
        let parts = page.rawValue.split(
            separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw S3Failure.unsupported("this is not a page of a bucket")
        }
        token = String(parts[1])
        seen = parts[0].split(separator: ",").compactMap { text in
            guard let letter = text.first, let kind = S3ListingFold.Seen.Kind(rawValue: letter),
                let part = S3Encoding.bytes(hexadecimal: text.dropFirst())
            else { return nil }
            return S3ListingFold.Seen(part: part, kind: kind)
        }
    }

    var pageToken: PageToken {
        let texts = seen.map { "\($0.kind.rawValue)\(S3Encoding.hexadecimal($0.part))" }
        return PageToken("\(texts.joined(separator: ",")) \(token ?? "")")
    }
}
