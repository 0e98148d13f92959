package import Engine
import ProviderSupport
import SystemCalls
import Transport

/// A bucket of S3, or a part of it, as a cloud.
///
/// A file is an object, a directory an empty object whose key ends in `/`; a name with only objects
/// below it is a directory, too. The version is the ETag. docs/providers.md says how Apus copes with
/// stores that lack a feature.
package final class S3Provider: Provider {
    package let traits: ProviderTraits

    let tree: S3Tree
    let probe: S3ConditionProbe
    let leftUploads: S3LeftUploads
    /// nil if no notifications are expected.
    let feed: S3Feed?
    private let directories: S3Directories
    private let writer: S3Writer
    private let attributeWriter: S3AttributeWriter
    private let mover: S3Mover
    private let remover: S3Remover

    /// - Parameter notifications: Those that the store sends about the bucket.
    init(
        _ client: S3Client, notifications: NotificationInbox? = nil
    ) throws(SystemError) {
        traits = ProviderTraits(
            name: "S3", keepsMode: true, keepsSymlinks: true, modifiedResolution: .nanoseconds(1),
            transfersMax: 64, queriesMax: 256, movesDirectoriesAtOnce: false,
            recognisesWrites: true, listsMetadata: false,
            trustsListings: client.settings.trustsListings, keepsChecksums: true,
            extendedAttributes: S3Attributes.space)
        tree = S3Tree(client)
        feed =
            notifications == nil
            ? nil : S3Feed(bucket: client.settings.bucket, keys: tree.keys)
        leftUploads = S3LeftUploads(client: client)
        probe = S3ConditionProbe(client, leftUploads: leftUploads)
        let rules = S3KeyRules(keys: tree.keys, probe: probe)
        let copier = S3Copier(client: client, probe: probe)
        directories = S3Directories(tree: tree, rules: rules)
        writer = S3Writer(
            tree: tree, rules: rules, copier: copier, hasher: try S3Hasher(),
            leftUploads: leftUploads)
        attributeWriter = S3AttributeWriter(tree: tree, directories: directories, copier: copier)
        remover = S3Remover(tree: tree, directories: directories, probe: probe)
        mover = S3Mover(tree: tree, directories: directories, copier: copier, remover: remover)
        if let feed {
            notifications?.open { body throws(NotificationError) in try feed.take(body) }
        }
    }

    /// Checks that the bucket exists and may be listed.
    ///
    /// - Returns: Whether it holds anything below the prefix.
    func check() async throws(ProviderError) -> Bool {
        try await tree.firstKey(below: tree.keys.place(of: .root)) != nil
    }

    package func probe() async throws(ProviderError) {
        _ = try await tree.firstKey(below: tree.keys.place(of: .root), waitsForTurn: false)
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        if key == .root {
            // The root always exists, but only a request shows whether the credentials are accepted.
            _ = try await tree.firstKey(below: tree.keys.place(of: .root))
        }
        return try await tree.object(key, try await tree.requireNode(at: key))
    }

    package var givesFirstBytes: Bool { true }

    /// Reads the metadata by a GET of the first bytes, instead of a HEAD.
    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        let (node, bytes) = try await tree.start(at: key, bytes: count)
        guard let node else { throw S3Failure.missing }
        let object = try await tree.object(key, node)
        return ObjectStart(object: object, bytes: object.kind == .file ? bytes : [])
    }

    /// A bucket has no size.
    package func space() async throws(ProviderError) -> StorageSpace? {
        try throwIfCancelled()
        return nil
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw S3Failure.unsupported(
            "the bucket's policy decides what is public",
            remedy: "mount the bucket as rclone:NAME:BUCKET, which makes addresses for a week")
    }

    // MARK: Changes

    package var preparesForChanges: Bool { probe.isNeeded }

    package func prepareForChanges() async throws(ProviderError) {
        _ = try await probe.conditions()
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await writer.write(
            key, from: source, attributes: attributes, base: base, session: session)
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        guard let file = tree.keys.place(of: key).file else { return }
        if let begun = S3UploadToken(token) {
            try await tree.client.abortUpload(begun.upload, file)
        } else if let lost = S3UploadIntent(token) {
            try await leftUploads.abortLost(lost, of: file)
        }
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        defer { tree.recentListings.forget(key) }
        return try await directories.create(key, attributes: attributes)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await writer.createSymlink(key, target: target, attributes: attributes)
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        try await attributeWriter.set(
            attributes, only: fields, on: key, etag: etag, nonce: nonce)
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        defer {
            // That of a directory.
            if etag == nil {
                for changed in [key, destination] { tree.recentListings.forget(changed) }
            }
        }
        return try await mover.move(
            key, etag: etag, to: destination, base: base, continues: continues, nonce: nonce,
            noteCopies: noteCopies)
    }

    package func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        defer { if kind == .directory { tree.recentListings.forget(key) } }
        try await remover.delete(key, kind: kind, etag: etag)
    }

    // MARK: Listing

    package func entries(of directory: ObjectKey) -> ListingCursor {
        let place = tree.keys.place(of: directory)
        let start = (fold: S3ListingFold(place), token: nil as String?)
        return ListingCursor(start) { [self] state async throws(ProviderError) in
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
        if !place.isBeginning, try await tree.client.head(place.folderMarker) != nil { return }
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

    // MARK: Reading

    package func checksum(
        of key: ObjectKey, etag: ETag
    ) async throws(ProviderError) -> (any ContentChecksum)? {
        guard let file = tree.keys.place(of: key).file else { throw S3Failure.isDirectory }
        let call = S3Client.Call(
            method: .head, key: file, headers: [("x-amz-checksum-mode", "ENABLED")])
        let (response, _) = try await tree.client.ask(call)
        guard S3ETag.etag(response.headers["etag"] ?? "") == etag else { throw S3Failure.changed }
        return S3Checksum.whole(of: response.headers, etag: etag)
            .map { S3KeptChecksum(sum: $0.sum, kept: $0.expected) }
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        guard let file = tree.keys.place(of: key).file else {
            throw S3Failure.isDirectory
        }
        var call = S3Client.Call(
            method: .get, key: file,
            headers: [
                ("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)"),
                S3Condition.version(etag).header,
            ], answerBytes: UInt64(range.count))
        if range.lowerBound == 0 { call.headers.append(("x-amz-checksum-mode", "ENABLED")) }
        var taker = S3ReadSink(range: range, etag: etag, into: sink)
        do throws(ProviderError) {
            let response = try await tree.client.perform(call) {
                taker = S3ReadSink(range: range, etag: etag, into: sink)
                return taker
            }
            do throws(S3AnswerProblem) {
                try taker.finish(response)
            } catch {
                throw ProviderError(error.kind, error.reason)
            }
            // A listing does not distinguish links from files.
            if S3Head(response.headers).metadata.isSymlink, try await stat(key).kind == .symlink {
                throw ProviderError(.wrongKind, "it is a symbolic link")
            }
        } catch {
            guard error.kind == .missing || error.refusal?.status == 416 else { throw error }
            if error.refusal?.status == 416 { throw S3Failure.changed }
            // A directory has no object with this key either.
            guard try await tree.node(at: key)?.kind == .directory else { throw error }
            throw S3Failure.isDirectory
        }
    }
}
