import Engine
import Transport

/// A file that arrives in ranges, by a PUT with `Content-Range` (RFC 9110, 14.5), which writes
/// them in their place: what has arrived outlives a connection, and the server.
///
/// The file has to be there before: Apache takes away what such a PUT has made, if that is cut short.
extension WebDAVProvider {
    /// How much one PUT has at most: Apache takes 1 GiB unless it is told otherwise, and some proxies
    /// 100 MB.
    private static var rangeBytesMax: UInt64 { 64 << 20 }
    /// The end of what a crash of the server's has cut short is not believed.
    private static var blockBytes: UInt64 { 1 << 20 }

    /// Where to go on behind bytes that have arrived; at least one is sent again.
    func goOnFrom(_ arrived: UInt64) -> UInt64 {
        max(arrived / Self.blockBytes, 1) * Self.blockBytes - Self.blockBytes
    }

    /// - Returns: Where to go on with an upload; nil where nothing of it is there.
    func arrived(
        _ upload: WebDAVUpload, at staging: ObjectKey
    ) async throws(ProviderError) -> UInt64? {
        guard let entry = try await look(at: staging, upload.attempt), !entry.isCollection,
            let size = entry.size, size <= upload.source.size
        else { return nil }
        return goOnFrom(size)
    }

    func makeEmpty(
        _ upload: WebDAVUpload, at staging: ObjectKey
    ) async throws(ProviderError) {
        let answer = try await client.send(
            .put, client.address.url(staging), headers: [("If-None-Match", "*")], body: .bytes([]),
            attempt: upload.attempt)
        guard answer.isSuccess else { throw await refusal(answer, of: upload) }
    }

    /// Sends what follows an offset.
    ///
    /// - Returns: The answer to the last request.
    /// - Throws: `.corrupt` where the file under our name is no longer there: bytes that are missing
    ///   would else be zeros.
    func putRanges(
        _ upload: WebDAVUpload, at staging: ObjectKey, from start: UInt64
    ) async throws(ProviderError) -> WebDAVAnswer {
        let session = upload.session
        let size = upload.source.size
        var offset = start
        while true {
            let (first, end) = (offset, min(offset + Self.rangeBytesMax, size))
            session.noteSent(first)
            let answer = try await client.send(
                .put, client.address.url(staging),
                headers: [
                    ("Content-Range", "bytes \(first)-\(end - 1)/\(size)"), ("If-Match", "*"),
                    ("Content-Type", "application/octet-stream"),
                ],
                body: .source(UploadBody(source: upload.source), range: first..<end),
                attempt: upload.attempt,
                onProgress: { sent, _ in session.noteSent(min(first + sent, end)) })
            if answer.status == 412 {
                throw ProviderError(
                    .corrupt, attempt: upload.attempt, reason: "what had arrived is gone")
            }
            if !answer.isSuccess || end == size { return answer }
            offset = end
        }
    }
}
