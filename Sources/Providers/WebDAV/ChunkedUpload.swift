import Engine
import ProviderSupport
import Transport

/// The persistent state of a chunked upload: the name of its directory below the server's
/// `uploads/USER`, and the size of its chunks.
struct WebDAVChunkToken: Hashable, Sendable {
    let name: String
    let chunkBytes: UInt64

    private static let prefix = "chunks"

    var token: UploadToken { UploadToken("\(Self.prefix) \(name) \(chunkBytes)") }
}

extension WebDAVChunkToken {
    init?(_ token: UploadToken) {
        let parts = token.rawValue.split(separator: " ")
        guard parts.count == 3, parts[0] == Self.prefix, let chunkBytes = UInt64(parts[2]),
            chunkBytes > 0
        else { return nil }
        self.init(name: String(parts[1]), chunkBytes: chunkBytes)
    }
}

/// The chunked upload, version 2, of Nextcloud and ownCloud: chunks go into a directory of their own,
/// and a MOVE of `.file` in there assembles them in the file's place.
struct ChunkedUpload: WebDAVStrategy {
    let sender: WebDAVSender
    /// The path of the collection that takes chunks.
    let uploads: [[UInt8]]
    let chunkBytes: UInt64

    /// The server assembles chunks 1 to 10,000, each of 5 MiB to 5 GiB except the last.
    private static let chunksMax: UInt64 = 10_000
    private static let chunksAtOnce = 4

    private var client: WebDAVClient { sender.lookup.client }

    /// Continues an earlier try with the same token. A failure leaves the chunks that have arrived for
    /// the next try, if there will be one.
    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        // Checked first, so that nothing is sent in vain.
        try await sender.expectBase(of: upload)
        let (token, arrived) = try await start(upload)
        let directory = directory(token)
        do throws(ProviderError) {
            try await sendChunks(upload, token, arrived, to: directory)
            try await upload.session.requireProof()
            return try await finishing { () async throws(ProviderError) in
                try await assemble(upload, from: directory)
                try upload.keep(nil)
                let entry = try await sender.stored(upload, at: upload.key)
                return try await sender.describe(entry, upload, at: upload.key)
            }
        } catch {
            if upload.isOver(after: error), (try? await abandon(token, of: upload.key)) != nil {
                try? upload.keep(nil)
            }
            throw error
        }
    }

    func abandon(_ token: WebDAVChunkToken, of key: ObjectKey) async throws(ProviderError) {
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await client.send(
                .delete, client.address.url(directory(token), isCollection: true),
                headers: [("Destination", client.address.url(key))])
        }
        guard answer.isSuccess || answer.status == 404 else { throw answer.failure }
    }

    private func directory(_ token: WebDAVChunkToken) -> [[UInt8]] {
        uploads + [Array(token.name.utf8)]
    }

    /// Continues the upload that the session kept, or starts a new one.
    ///
    /// - Returns: The token, and the chunks that have arrived completely.
    private func start(
        _ upload: WebDAVUpload
    ) async throws(ProviderError) -> (WebDAVChunkToken, arrived: Set<UInt64>) {
        if let token = upload.session.token.flatMap(WebDAVChunkToken.init),
            let arrived = try await arrived(upload, token)
        {
            return (token, arrived)
        }
        let smallest = (upload.size + Self.chunksMax - 1) / Self.chunksMax
        let token = WebDAVChunkToken(
            name: WebDAVName.new().description.replacing(".apus-new-", with: "apus-"),
            chunkBytes: max(chunkBytes, (smallest + 1_048_575) & ~1_048_575))
        // Stored before the directory exists, so that none is left behind unknown.
        try upload.keep(token.token)
        let answer = try await client.send(
            .mkcol, client.address.url(directory(token), isCollection: true),
            headers: [destination(of: upload)])
        guard answer.isSuccess else {
            let failure = answer.failure
            // The directory that is missing is not the file's.
            throw ProviderError(
                failure.kind == .missing ? .unreachable : failure.kind, failure.reason,
                retryAfter: failure.retryAfter)
        }
        return (token, [])
    }

    /// - Returns: The chunks that have arrived completely; nil if the server has dropped the upload.
    private func arrived(
        _ upload: WebDAVUpload, _ token: WebDAVChunkToken
    ) async throws(ProviderError) -> Set<UInt64>? {
        let directory = directory(token)
        var found: Set<UInt64> = []
        do throws(ProviderError) {
            let multistatus = try await client.propfind(
                client.address.url(directory, isCollection: true), depth: 1,
                properties: "<D:getcontentlength/>")
            while let entry = try multistatus.next() {
                guard let path = WebDAVAddress.components(of: entry.href),
                    path.dropLast() == directory[...], let name = path.last,
                    let number = UInt64(String(decoding: name, as: UTF8.self)), number > 0,
                    let range = chunk(number, of: upload, token),
                    entry.size == UInt64(range.count)
                else { continue }
                found.insert(number)
            }
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
        return found
    }

    /// - Parameter number: From 1.
    /// - Returns: nil beyond the last chunk.
    private func chunk(
        _ number: UInt64, of upload: WebDAVUpload, _ token: WebDAVChunkToken
    ) -> Range<UInt64>? {
        let (start, overflow) = (number - 1).multipliedReportingOverflow(by: token.chunkBytes)
        guard !overflow, start < upload.size else { return nil }
        return start..<min(start + token.chunkBytes, upload.size)
    }

    private func sendChunks(
        _ upload: WebDAVUpload, _ token: WebDAVChunkToken, _ arrived: Set<UInt64>,
        to directory: [[UInt8]]
    ) async throws(ProviderError) {
        let count = (upload.size + token.chunkBytes - 1) / token.chunkBytes
        let sent = arrived.reduce(UInt64(0)) {
            $0 + UInt64(chunk($1, of: upload, token)?.count ?? 0)
        }
        let progress = PartsProgress(upload.session, already: sent)
        let missing = (0..<count).map { $0 + 1 }.filter { !arrived.contains($0) }
        try await concurrently(missing, atMost: Self.chunksAtOnce) {
            number async throws(ProviderError) in
            // One refusal is answered before many bytes are sent in vain.
            try await sendChunk(
                number, of: upload, token, to: directory, awaitsApproval: number == missing.first,
                progress)
        } result: { _ in
        }
    }

    private func sendChunk(
        _ number: UInt64, of upload: WebDAVUpload, _ token: WebDAVChunkToken,
        to directory: [[UInt8]], awaitsApproval: Bool, _ progress: PartsProgress
    ) async throws(ProviderError) {
        guard let range = chunk(number, of: upload, token) else { return }
        // The server assembles them in the order of their names.
        let digits = String(number)
        let name = String(repeating: "0", count: 5 - digits.count) + digits
        let answer = try await client.send(
            .put, client.address.url(directory + [Array(name.utf8)]),
            headers: [
                destination(of: upload), ("OC-Total-Length", String(upload.size)),
                ("Content-Type", "application/octet-stream"),
            ],
            body: HTTPBody(upload.source, range), awaitsApproval: awaitsApproval,
            onProgress: { sent, _ in
                progress.note(part: number, min(sent, UInt64(range.count)))
            })
        // The server deletes uploads after a day or so.
        if [404, 409, 410, 412].contains(answer.status) { throw Self.dropped }
        guard answer.isSuccess else { throw answer.failure }
    }

    /// Has the server assemble the chunks if the base version is still there.
    private func assemble(
        _ upload: WebDAVUpload, from directory: [[UInt8]]
    ) async throws(ProviderError) {
        var headers = [
            destination(of: upload), ("OC-Total-Length", String(upload.size)),
            ("X-OC-Mtime", "\(upload.attributes.modified.seconds)"),
        ]
        switch upload.base {
        case .absent: headers.append(("Overwrite", "F"))
        case .version(let tag):
            headers.append(("Overwrite", "T"))
            if let etag = WebDAVVersion.etag(in: tag) {
                // `If-Match` would apply to the chunks, which are the source of the move (RFC 9110).
                headers.append(("If", "<\(client.address.url(upload.key))> ([\(etag)])"))
            } else {
                try await sender.expectBase(of: upload)
            }
        }
        let answer = try await client.send(
            .move, client.address.url(directory + [Array(".file".utf8)]), headers: headers)
        switch answer.status {
        case 200..<300: return
        // The chunks do not add up to the file, so none of them can be trusted.
        case 400: throw ProviderError(.corrupt, "the server cannot assemble the chunks")
        case 404, 409:
            let failure = await sender.refusal(answer, of: upload)
            guard failure.kind == .missing, let parent = upload.key.parent,
                (try? await sender.lookup.isCollection(parent)) == true
            else { throw failure }
            throw Self.dropped
        default: throw await sender.refusal(answer, of: upload)
        }
    }

    private func destination(of upload: WebDAVUpload) -> (name: String, value: String) {
        ("Destination", client.address.url(upload.key))
    }

    /// The next try starts a new upload.
    private static let dropped = ProviderError(.corrupt, "the server has dropped the upload")
}
