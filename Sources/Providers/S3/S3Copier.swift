import Engine
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
        do {
            let smallest = (head.size + limits.partsMax - 1) / limits.partsMax
            let partBytes = S3CopyMark.partBytes(atLeast: max(limits.copyPartBytes, smallest))
            let count = Int((head.size + partBytes - 1) / partBytes)
            var etags: [Int: ETag] = [:]
            try await withThrowingTaskGroup(of: (Int, ETag).self) { group in
                for number in 1...count {
                    // The last part is smaller and lacks the mark, so it must never be there alone.
                    if number > limits.partsAtOnce || number == count,
                        let (done, etag) = try await group.next()
                    {
                        etags[done] = etag
                    }
                    let start = UInt64(number - 1) * partBytes
                    let range = start..<min(start + partBytes, head.size)
                    group.addTask {
                        let etag = try await client.copyPart(
                            number, of: upload, key, from: source, etag: head.etag, range: range)
                        return (number, etag)
                    }
                }
                for try await (number, etag) in group { etags[number] = etag }
            }
            let parts = etags.sorted { $0.key < $1.key }.map { (number: $0.key, etag: $0.value) }
            return try await client.completeUpload(upload, key, parts: parts, condition)
        } catch {
            // In a task of its own, which the cancellation of this one does not end.
            await Task { try? await client.abortUpload(upload, key) }.value
            if let error = error as? ProviderError {
                throw S3Failure.droppedUpload(error) ?? error
            }
            throw S3Failure.cancelled(cause: error)
        }
    }
}
