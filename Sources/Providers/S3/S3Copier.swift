import Engine
import ProviderSupport
import Synchronization

/// Copies objects within the bucket.
struct S3Copier: Sendable {
    let client: S3Client
    let probe: S3ConditionProbe

    private var limits: S3Settings.Limits { client.settings.limits }

    /// Copies one version of an object.
    ///
    /// - Parameters:
    ///   - head: The source; the copy fails if it is another version by now.
    ///   - metadata: nil to keep that of the source. If only the store knows the source's time of
    ///     modification, it is written to the copy's metadata, since the copy gets a new one.
    /// - Throws: `.changed` if the source or the target is not the expected version.
    func copy(
        _ source: S3Key, _ head: S3Head, to key: S3Key, metadata: S3Metadata? = nil,
        _ condition: S3Condition?
    ) async throws(ProviderError) -> ETag {
        var metadata = metadata
        if metadata == nil, head.metadata.modified == nil {
            metadata = head.metadata
            metadata?.setModified(head.modified)
        }
        if head.size > limits.copyBytesMax {
            return try await copyParts(
                source, head, to: key, metadata: metadata ?? head.metadata, condition)
        }
        let etag = try await client.copy(
            source, etag: head.etag, to: key,
            headers: metadata.map { $0.headers + ownHeaders(head) },
            storageClass: head.ownHeaders["x-amz-storage-class"], condition)
        // If the store ignores the condition on the source, the ETag shows a wrong version.
        let isOther = etag != head.etag && !S3ETag.isOfParts(etag) && !S3ETag.isOfParts(head.etag)
        let isPlain = head.ownHeaders["x-amz-server-side-encryption"] == nil
        if isOther, isPlain, probe.known.withLock({ $0?.copyIfSource == false }) {
            throw S3Failure.changed
        }
        return etag
    }

    private func ownHeaders(_ head: S3Head) -> [(name: String, value: String)] {
        head.ownHeaders.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Copies an object that is too large for one request.
    private func copyParts(
        _ source: S3Key, _ head: S3Head, to key: S3Key, metadata: S3Metadata,
        _ condition: S3Condition?
    ) async throws(ProviderError) -> ETag {
        let client = client
        let upload = try await client.beginUpload(key, headers: metadata.headers + ownHeaders(head))
        do throws(ProviderError) {
            let smallest = (head.size + limits.partsMax - 1) / limits.partsMax
            let partBytes = S3CopyMark.partBytes(atLeast: max(limits.copyPartBytes, smallest))
            let count = Int((head.size + partBytes - 1) / partBytes)
            var etags: [Int: ETag] = [:]
            // The last part is smaller and lacks the mark, so it must never be there alone.
            try await concurrently(1...count, atMost: min(limits.copyPartsAtOnce, count - 1)) {
                number async throws(ProviderError) in
                let start = UInt64(number - 1) * partBytes
                let etag = try await client.copyPart(
                    number, of: upload, key, from: source, etag: head.etag,
                    range: start..<min(start + partBytes, head.size))
                return (number, etag)
            } result: { number, etag in
                etags[number] = etag
            }
            return try await client.completeUpload(upload, key, parts: etags, condition)
        } catch {
            try? await cleaningUp { () async throws(ProviderError) in
                try await client.abortUpload(upload, key)
            }
            throw S3Failure.droppedUpload(error) ?? error
        }
    }
}
