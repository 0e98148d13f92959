import Engine
import ProviderSupport
import Transport

/// Identifies an upload in parts that can be continued: its id at the store, the size of its parts,
/// and a digest of the metadata with which it was started and which the object will have.
struct S3UploadToken: Hashable, Sendable {
    let upload: String
    let partBytes: UInt64
    /// ``S3Metadata/mark`` of that metadata.
    let metadata: String

    var token: UploadToken { UploadToken("\(partBytes) \(metadata) \(upload)") }
}

extension S3UploadToken {
    init?(_ token: UploadToken) {
        let parts = token.rawValue.split(separator: " ", maxSplits: 2)
        guard parts.count == 3, let partBytes = UInt64(parts[0]), partBytes > 0 else { return nil }
        self.init(upload: String(parts[2]), partBytes: partBytes, metadata: String(parts[1]))
    }
}

/// Sends one file in concurrent parts, and continues where an earlier call stopped.
struct S3Upload: Sendable {
    let client: S3Client
    let leftUploads: S3LeftUploads
    let hasher: S3Hasher
    let key: S3Key
    let source: any ByteSource
    let metadata: S3Metadata
    /// Of the new object, including those of the metadata.
    let headers: [(name: String, value: String)]
    let session: any UploadSession

    /// After a failure the parts stay at the store for the next call, unless there will be none.
    ///
    /// - Parameter beforeEnd: Checks again that the object may be replaced, and returns the condition
    ///   to send with the last request.
    /// - Returns: The version, and whether it has ``metadata``: an upload that an earlier call
    ///   started has the metadata of that call.
    func run(
        _ beforeEnd: @Sendable () async throws(ProviderError) -> S3Condition?
    ) async throws(ProviderError) -> (etag: ETag, hasMetadata: Bool) {
        let (token, arrived) = try await begin()
        do throws(ProviderError) {
            let parts = try await sendParts(token, arrived)
            let condition = try await beforeEnd()
            let etag = try await client.completeUpload(token.upload, key, parts: parts, condition)
            try keep(nil)
            return (etag, token.metadata == metadata.mark)
        } catch {
            if let dropped = S3Failure.droppedUpload(error) {
                // A single answer is not trusted: were it wrong, the parts would stay there for ever.
                let isGone = try? await client.parts(of: token.upload, key) == nil
                if isGone == true { try? keep(nil) }
                throw dropped
            }
            if isOver(error) { await abort(token) }
            throw error
        }
    }

    /// Continues the upload that the session has saved, or starts a new one.
    private func begin() async throws(ProviderError) -> (S3UploadToken, [S3Client.Part]) {
        if let token = session.token.flatMap(S3UploadToken.init),
            let parts = try await client.parts(of: token.upload, key)
        {
            return (token, parts)
        }
        if let lost = session.token.flatMap(S3UploadIntent.init) {
            do throws(ProviderError) {
                try await leftUploads.abortLost(lost, of: key)
            } catch {
                // New bytes are sent even if the store does not let us remove old ones.
                if error.isPassing || [.cancelled, .unauthorized].contains(error.kind) {
                    throw error
                }
            }
        }
        // From here until the token is saved, the store may have an upload whose id is unknown here.
        if !(session is UntrackedUpload), let intent = try await leftUploads.intent(key) {
            try keep(intent.token)
        }
        let limits = client.settings.limits
        let smallest = (source.size + limits.partsMax - 1) / limits.partsMax
        let partBytes = max(limits.partBytes, (smallest + 1_048_575) & ~1_048_575)
        let upload = try await client.beginUpload(key, headers: headers)
        let token = S3UploadToken(
            upload: upload, partBytes: partBytes, metadata: metadata.mark)
        do throws(ProviderError) {
            try keep(token.token)
        } catch {
            await abort(token)
            throw error
        }
        return (token, [])
    }

    /// Whether this upload will not be continued.
    private func isOver(_ error: ProviderError) -> Bool {
        if session is UntrackedUpload { return true }
        return [.exists, .changed, .missing, .wrongKind, .source].contains(error.kind)
    }

    /// Removes the parts from the store, even if the task is cancelled.
    private func abort(_ token: S3UploadToken) async {
        let isAborted: Void? = try? await cleaningUp { () async throws(ProviderError) in
            try await client.abortUpload(token.upload, key)
        }
        if isAborted != nil { try? keep(nil) }
    }

    private func keep(_ token: UploadToken?) throws(ProviderError) {
        do {
            try session.keep(token)
        } catch {
            throw ProviderError(
                .source, "its progress cannot be saved: \(error)",
                cause: error)
        }
    }

    // MARK: Parts

    private func sendParts(
        _ token: S3UploadToken, _ arrived: [S3Client.Part]
    ) async throws(ProviderError) -> [Int: ETag] {
        let count = Int((source.size + token.partBytes - 1) / token.partBytes)
        var etags: [Int: ETag] = [:]
        for part in arrived where (1...count).contains(part.number) {
            // A part of another size was cut short, and is sent again.
            if part.size == UInt64(range(part.number, token).count) {
                etags[part.number] = part.etag
            }
        }
        let sent = etags.keys.reduce(UInt64(0)) { $0 + UInt64(range($1, token).count) }
        let progress = PartsProgress(session, already: sent)
        let missing = (1...count).filter { etags[$0] == nil }
        try await concurrently(missing, atMost: client.settings.limits.partsAtOnce) {
            number async throws(ProviderError) in
            (number, try await sendPart(number, token, progress))
        } result: { number, etag in
            etags[number] = etag
        }
        return etags
    }

    private func sendPart(
        _ number: Int, _ token: S3UploadToken, _ progress: PartsProgress
    ) async throws(ProviderError) -> ETag {
        let range = range(number, token)
        let (body, hash) = try await hasher.body(source, range)
        return try await client.sendPart(
            number, of: token.upload, key, body,
            hash: hash.hexadecimal, onProgress: { progress.note(part: UInt64(number), $0) })
    }

    private func range(_ number: Int, _ token: S3UploadToken) -> Range<UInt64> {
        let start = UInt64(number - 1) * token.partBytes
        return start..<min(start + token.partBytes, source.size)
    }
}
