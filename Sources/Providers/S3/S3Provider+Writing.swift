package import Engine
import Transport

extension S3Provider {
    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "write \(source.size) bytes to \"\(key)\""
        try checkCancelled(attempt)
        let file = try await fileKey(key, base: base, attempt)
        let conditions = try await conditions(attempt)
        let replaced = try await checkBase(key, base, conditions, attempt)
        var metadata = replaced?.metadata.ofNewBytes ?? S3Metadata()
        metadata.set(attributes, kind: .file)
        let headers = newObjectHeaders(metadata, replacing: replaced)
        let condition = S3Condition(base)
        var etag: ETag
        var written: Timestamp?
        do throws(ProviderError) {
            if source.size <= limits.partBytes {
                let made = try await putWhole(
                    file, source, headers, conditions.onPut(condition), session, attempt)
                (etag, written) = (made.etag, made.at)
                // Of a file that is new here, others hardly know within that second.
                if base != .absent { written = made.at.map(S3Head.before) }
            } else {
                let upload = S3Upload(
                    provider: self, key: file, source: source, metadata: metadata,
                    headers: headers, session: session, attempt: attempt)
                let made = try await upload.run { () async throws(ProviderError) -> S3Condition? in
                    // Much time may have passed, and not every store heeds this condition here.
                    try await self.checkVersion(file, condition, attempt)
                    return conditions.onPut(condition)
                }
                etag = made.etag
                if !made.hasMetadata {
                    etag = try await describe(file, made.etag, metadata, conditions, attempt)
                }
                // For AWS it is as old as the beginning of its upload.
                let head = try? await client.head(file, attempt)
                if head?.etag == etag { written = base == .absent ? head?.modified : head?.written }
            }
        } catch {
            throw try await explained(error, key, file, base, attempt)
        }
        guard let name = key.names.last else { throw exists(attempt) }
        return RemoteObject(
            name: name, kind: .file, etag: etag, size: source.size, modified: attributes.modified,
            mode: attributes.mode, written: written,
            extendedAttributes: attributes.extendedAttributes)
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        let attempt = "abandon an upload of \"\(key)\""
        try checkCancelled(attempt)
        guard let file = keys.place(of: key).file else { return }
        if let begun = S3UploadToken(token) {
            try await client.abortUpload(begun.upload, file, attempt)
        } else if let lost = S3UploadIntent(token) {
            try await abortLost(lost, of: file, attempt)
        }
    }

    /// Gives other metadata to a version of ours: an upload in parts has that with which it was
    /// begun, and its parts are not sent again for a `chmod`.
    private func describe(
        _ file: S3Key, _ etag: ETag, _ metadata: S3Metadata, _ conditions: S3Conditions,
        _ attempt: String
    ) async throws(ProviderError) -> ETag {
        guard let head = try await client.head(file, attempt) else { throw missing(attempt) }
        guard head.etag == etag else { throw changed(attempt) }
        return try await copy(
            file, head, to: file, metadata: metadata, conditions.onCopy(.version(etag)), attempt)
    }

    /// - Returns: Also the store's time at the end.
    private func putWhole(
        _ file: S3Key, _ source: any ByteSource, _ headers: [(name: String, value: String)],
        _ condition: S3Condition?, _ session: any UploadSession, _ attempt: String
    ) async throws(ProviderError) -> (etag: ETag, at: Timestamp?) {
        let range = 0..<source.size
        let hash = try await hash(source, range, attempt)
        var call = S3Client.Call(.put, file)
        call.headers = headers + [(S3Checksum.header, hash.base64)]
        if let condition { call.headers.append(condition.header) }
        call.body = range.isEmpty ? .bytes([]) : .source(S3BodySource(source), range: range)
        call.payloadHash = hash.hexadecimal
        call.onProgress = { sent, _ in session.noteSent(sent) }
        let (response, _) = try await client.ask(call, attempt)
        return (
            etag: try S3Client.etag(of: response, attempt),
            at: response.headers["date"].flatMap(S3Date.timestamp(header:))
        )
    }

    // MARK: Before and after

    /// Looks for what no condition of a request covers: that the parent is there, and no directory
    /// has the name.
    ///
    /// - Returns: What is to be replaced, whose metadata the new object takes over.
    private func checkBase(
        _ key: ObjectKey, _ base: BaseVersion, _ conditions: S3Conditions, _ attempt: String
    ) async throws(ProviderError) -> S3Head? {
        switch base {
        case .absent:
            try await checkNew(key, looksForFile: !conditions.putIfAbsent, attempt)
            return nil
        case .version(let etag):
            guard let found = try await look(key, attempt) else { throw missing(attempt) }
            guard case .object(let head) = found else {
                throw ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
            }
            guard head.etag == etag else { throw changed(attempt) }
            return head
        }
    }

    /// Makes sure that something may be made at `key`: its parent is there, and nothing else is.
    func checkNew(
        _ key: ObjectKey, looksForFile: Bool, _ attempt: String
    ) async throws(ProviderError) {
        guard let parent = key.parent else { throw exists(attempt) }
        let place = keys.place(of: key)
        let client = client
        async let isParentThere: Void = checkParent(parent, attempt)
        async let below = client.list(prefix: place.directory, delimiter: false, max: 1, attempt)
        do {
            try await isParentThere
            guard try await below.objects.isEmpty else { throw exists(attempt) }
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.unreachable, attempt: attempt, reason: "\(error)", cause: error)
        }
        if looksForFile, let file = place.file, try await client.head(file, attempt) != nil {
            throw exists(attempt)
        }
    }

    func checkParent(_ parent: ObjectKey, _ attempt: String) async throws(ProviderError) {
        if parent == .root { return }
        let place = keys.place(of: parent)
        let found = try await client.list(
            prefix: place.directory, delimiter: false, max: 1, attempt)
        if !found.objects.isEmpty { return }
        if try await client.head(place.folderMarker, attempt) != nil { return }
        throw ProviderError(
            .missing, attempt: attempt, reason: "there is no directory \"\(parent)\"")
    }

    /// - Throws: As ``Provider/write(_:from:attributes:base:session:)`` where a version is not, or
    ///   no longer, what it should be.
    func checkVersion(
        _ file: S3Key, _ condition: S3Condition, _ attempt: String
    ) async throws(ProviderError) {
        let head = try await client.head(file, attempt)
        switch condition {
        case .absent: if head != nil { throw exists(attempt) }
        case .version(let etag):
            guard let head else { throw missing(attempt) }
            if head.etag != etag { throw changed(attempt) }
        }
    }

    /// What a refused condition means.
    func explained(
        _ error: ProviderError, _ key: ObjectKey, _ file: S3Key, _ base: BaseVersion,
        _ attempt: String
    ) async throws(ProviderError) -> ProviderError {
        guard let refusal = error.refusal else { return error }
        let isRefusedCondition = error.kind == .changed
        let isConflict = refusal.code == "ConditionalRequestConflict" || refusal.status == 409
        switch base {
        case .absent:
            if isRefusedCondition { return exists(attempt) }
            if isConflict, try await client.head(file, attempt) != nil { return exists(attempt) }
        case .version(let etag):
            guard isRefusedCondition || isConflict || error.kind == .missing else { return error }
            guard let found = try await look(key, attempt) else { return missing(attempt) }
            guard case .object(let head) = found else {
                return ProviderError(.wrongKind, attempt: attempt, reason: "it is a directory")
            }
            if head.etag != etag || isRefusedCondition { return changed(attempt) }
        }
        return error
    }

    /// Headers that others have given to an object, and that stay when its bytes are replaced. Not
    /// among them is `Content-Encoding`, which says how the old bytes are to be read.
    private static let stayingNames = [
        "cache-control", "content-disposition", "content-language", "expires",
        "x-amz-website-redirect-location",
    ]

    /// - Parameter replaced: The object in whose place the new one comes.
    func newObjectHeaders(
        _ metadata: S3Metadata, replacing replaced: S3Head? = nil
    ) -> [(name: String, value: String)] {
        var headers = metadata.headers
        let type =
            replaced?.metadata.isSymlink == false ? replaced?.ownHeaders["content-type"] : nil
        headers.append(("Content-Type", type ?? "application/octet-stream"))
        for name in Self.stayingNames {
            if let value = replaced?.ownHeaders[name] { headers.append((name, value)) }
        }
        if let storageClass = client.settings.storageClass {
            headers.append(("x-amz-storage-class", storageClass))
        }
        return headers
    }
}

extension S3Condition {
    init(_ base: BaseVersion) {
        switch base {
        case .absent: self = .absent
        case .version(let etag): self = .version(etag)
        }
    }
}
