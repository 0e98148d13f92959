import Engine
import ProviderSupport
import Transport

/// Writes new objects and new versions: files and symbolic links.
struct S3Writer: Sendable {
    let tree: S3Tree
    let rules: S3KeyRules
    let copier: S3Copier
    let hasher: S3Hasher
    let leftUploads: S3LeftUploads

    private var client: S3Client { tree.client }

    /// As ``Provider/write(_:from:attributes:base:session:)``.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let file = try await rules.fileKey(key, base: base)
        let conditions = try await rules.probe.conditions()
        let replaced = try await tree.checkBase(
            base, at: key, looksForFile: !conditions.putIfAbsent)
        var metadata = replaced?.metadata.ofNewBytes ?? S3Metadata()
        metadata.set(attributes, kind: .file)
        metadata.setNonce(session.nonce)
        let headers = headers(metadata, replacing: replaced)
        let condition = S3Condition(base)
        var etag: ETag
        var remoteModified: Timestamp?
        do throws(ProviderError) {
            if source.size <= client.settings.limits.wholeBytesMax {
                let made = try await putWhole(
                    file, source, headers, conditions.onPut(condition), session)
                (etag, remoteModified) = (made.etag, made.at)
                // Other clients hardly know of a file that we have just created within that second.
                if base != .absent { remoteModified = made.at.map(S3Head.before) }
            } else {
                let upload = S3Upload(
                    client: client, leftUploads: leftUploads, hasher: hasher, key: file,
                    source: source, metadata: metadata, headers: headers, session: session)
                let made = try await upload.run { () async throws(ProviderError) -> S3Condition? in
                    // Much time may have passed, and not every store honours this condition here.
                    try await tree.check(condition, at: file)
                    return conditions.onPut(condition)
                }
                etag = made.etag
                if !made.hasMetadata {
                    etag = try await describe(file, made.etag, metadata, conditions)
                }
                // AWS dates the object to the start of its upload.
                let head = try? await client.head(file)
                if head?.etag == etag {
                    remoteModified = base == .absent ? head?.modified : head?.remoteModified
                }
            }
        } catch {
            throw try await explained(error, key, file, base)
        }
        guard let name = key.names.last else { throw S3Failure.exists }
        return RemoteObject(
            name: name, kind: .file, etag: etag, size: source.size, modified: attributes.modified,
            mode: attributes.mode, remoteModified: remoteModified,
            extendedAttributes: attributes.extendedAttributes, nonce: session.nonce)
    }

    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        guard (1...4095).contains(target.count), !target.contains(0) else {
            throw S3Failure.unsupported("the target of the link is not a path")
        }
        guard let name = key.names.last else { throw S3Failure.exists }
        let file = try await rules.fileKey(key)
        let conditions = try await rules.probe.conditions()
        try await tree.checkNew(key, looksForFile: !conditions.putIfAbsent)
        let metadata = S3Metadata(attributes: attributes, kind: .symlink, target: target)
        let etag: ETag
        do throws(ProviderError) {
            etag = try await client.put(
                file, target, headers: headers(metadata), conditions.onPut(.absent))
        } catch {
            throw try await explained(error, key, file, .absent)
        }
        return RemoteObject(
            name: name, kind: .symlink, etag: etag, size: 0, modified: attributes.modified,
            mode: attributes.mode, target: target)
    }

    /// Gives other metadata to the version just written: an upload in parts has the metadata with
    /// which it was started, and its parts are not sent again for a `chmod`.
    private func describe(
        _ file: S3Key, _ etag: ETag, _ metadata: S3Metadata, _ conditions: S3Conditions
    ) async throws(ProviderError) -> ETag {
        guard let head = try await client.head(file) else {
            throw S3Failure.missing
        }
        guard head.etag == etag else { throw S3Failure.changed }
        return try await copier.copy(
            file, head, to: file, metadata: metadata, conditions.onCopy(.version(etag)))
    }

    /// - Returns: The version, and the store's time at the end.
    private func putWhole(
        _ file: S3Key, _ source: any ByteSource, _ headers: [(name: String, value: String)],
        _ condition: S3Condition?, _ session: any UploadSession
    ) async throws(ProviderError) -> (etag: ETag, at: Timestamp?) {
        let range = 0..<source.size
        let (body, hash) = try await hasher.body(source, range)
        let call = S3Client.Call(
            method: .put, key: file,
            headers: headers + [(S3Checksum.header, hash.base64)] + condition.headers,
            body: body, payloadHash: hash.hexadecimal,
            onProgress: { sent, _ in session.noteSent(sent) })
        let (response, _) = try await client.ask(call)
        return (
            etag: try S3Client.etag(of: response),
            at: response.headers["date"].flatMap(Timestamp.init(httpDate:))
        )
    }

    /// Translates a refused condition into an error that ``Provider`` specifies.
    private func explained(
        _ error: ProviderError, _ key: ObjectKey, _ file: S3Key, _ base: BaseVersion
    ) async throws(ProviderError) -> ProviderError {
        guard let refusal = error.refusal else { return error }
        let isRefusedCondition = error.kind == .changed
        let isConflict = refusal.code == "ConditionalRequestConflict" || refusal.status == 409
        switch base {
        case .absent:
            if isRefusedCondition { return S3Failure.exists }
            if isConflict, try await client.head(file) != nil {
                return S3Failure.exists
            }
        case .version(let etag):
            guard isRefusedCondition || isConflict || error.kind == .missing else { return error }
            guard let node = try await tree.node(at: key) else {
                return S3Failure.missing
            }
            guard case .object(let head) = node else { return S3Failure.isDirectory }
            if head.etag != etag || isRefusedCondition { return S3Failure.changed }
        }
        return error
    }

    /// Headers that others have given to an object and that survive new bytes. `Content-Encoding`
    /// is not among them: it describes the old bytes.
    private static let stayingNames = [
        "cache-control", "content-disposition", "content-language", "expires",
        "x-amz-website-redirect-location",
    ]

    /// - Parameter replaced: The object that the new one replaces.
    private func headers(
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
