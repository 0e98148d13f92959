import Engine
import ProviderSupport
import Transport

/// Ranges sent to a temporary name by PUT with `Content-Range` (RFC 9110, 14.5), then a MOVE. The ranges
/// are written in place, so that an upload continues after a lost connection or a restart.
struct RangedUpload: WebDAVStrategy {
    let staging: WebDAVStaging

    /// The most that one PUT sends: Apache accepts 1 GiB by default, some proxies 100 MB, headers included.
    private static let rangeBytesMax: UInt64 = 95 << 20
    /// The unit of continuation, since a crash of the server may damage the end of a file.
    private static let blockBytes: UInt64 = 1 << 20

    private var sender: WebDAVSender { staging.sender }

    /// A failure leaves the bytes that have arrived for the next try.
    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        try await sender.expectBase(of: upload)
        var (staged, offset) = try await start(upload)
        do throws(ProviderError) {
            let stored = try await sender.putDistinct(upload, at: staged, []) {
                _ async throws(ProviderError) in
                let answer = try await putRanges(upload, at: staged, from: offset)
                // Another version tag takes another write.
                offset = Self.continuation(after: upload.size)
                return answer
            }
            return try await staging.publish(staged, stored, upload)
        } catch {
            if upload.isOver(after: error) { await staging.abandon(staged, of: upload) }
            throw error
        }
    }

    /// Continues the upload that the session kept, or starts a new one.
    ///
    /// - Returns: The staged file, and the offset of the first byte to send.
    private func start(
        _ upload: WebDAVUpload
    ) async throws(ProviderError) -> (staged: ObjectKey, offset: UInt64) {
        if let token = upload.session.token {
            if let staged = staging.file(token, of: upload.key),
                let entry = try await sender.lookup.entry(at: staged), !entry.isCollection,
                let size = entry.size, size <= upload.size
            {
                return (staged, Self.continuation(after: size))
            }
            try? await staging.abandon(token, of: upload.key)
        }
        let staged = try staging.start(upload)
        // The file has to exist: if such a PUT is interrupted, Apache removes a file that it created.
        let answer = try await sender.lookup.client.send(
            .put, sender.lookup.client.address.url(staged), headers: [("If-None-Match", "*")],
            body: .bytes([]))
        guard answer.isSuccess else { throw await sender.refusal(answer, of: upload) }
        return (staged, 0)
    }

    /// Returns the offset to continue at; at least one byte is sent again.
    private static func continuation(after arrived: UInt64) -> UInt64 {
        max(arrived / blockBytes, 1) * blockBytes - blockBytes
    }

    /// Sends the bytes from an offset on.
    ///
    /// - Returns: The answer to the last request.
    /// - Throws: `.corrupt` if the staged file is gone: its missing bytes would become zeros.
    private func putRanges(
        _ upload: WebDAVUpload, at staged: ObjectKey, from start: UInt64
    ) async throws(ProviderError) -> WebDAVAnswer {
        let session = upload.session
        let size = upload.size
        var offset = start
        while true {
            let (first, end) = (offset, min(offset + Self.rangeBytesMax, size))
            session.noteSent(first)
            let answer = try await sender.lookup.client.send(
                .put, sender.lookup.client.address.url(staged),
                headers: [
                    ("Content-Range", "bytes \(first)-\(end - 1)/\(size)"), ("If-Match", "*"),
                    ("Content-Type", "application/octet-stream"),
                ],
                body: HTTPBody(upload.source, first..<end), awaitsApproval: first == start,
                onProgress: { sent, _ in session.noteSent(min(first + sent, end)) })
            if answer.status == 412 {
                throw ProviderError(.corrupt, "the bytes that had arrived are gone")
            }
            if !answer.isSuccess || end == size { return answer }
            offset = end
        }
    }
}
