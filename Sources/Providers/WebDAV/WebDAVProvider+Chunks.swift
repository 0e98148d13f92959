import Engine
import Transport

/// What is kept of an upload in chunks: the name of its directory below the server's `uploads/USER`,
/// and the size of its chunks.
struct WebDAVChunkToken: Hashable, Sendable {
    let name: String
    let chunkBytes: UInt64

    private static let word = "chunks"

    init(name: String, chunkBytes: UInt64) {
        self.name = name
        self.chunkBytes = chunkBytes
    }

    init?(_ token: UploadToken) {
        let parts = token.rawValue.split(separator: " ")
        guard parts.count == 3, parts[0] == Self.word, let chunkBytes = UInt64(parts[2]),
            chunkBytes > 0
        else { return nil }
        self.init(name: String(parts[1]), chunkBytes: chunkBytes)
    }

    var token: UploadToken { UploadToken("\(Self.word) \(name) \(chunkBytes)") }
}

/// The chunked upload, version 2, of Nextcloud, which ownCloud takes as well: chunks go into a
/// directory of their own, and a MOVE of `.file` there puts them together in the file's place.
extension WebDAVProvider {
    /// The server puts together the chunks 1 to 10,000, of 5 MiB to 5 GiB but for the last.
    static let chunksMax: UInt64 = 10_000

    /// Sends a file in chunks, and goes on where an earlier try with the same token stopped.
    ///
    /// A failure leaves what has arrived for the next try, unless nobody will make one.
    func storeInChunks(
        _ upload: WebDAVUpload, below uploads: [[UInt8]]
    ) async throws(ProviderError) -> RemoteObject {
        // What is refused in the end anyway need not be sent.
        let entry = try await look(at: upload.key, upload.attempt)
        try expect(upload.base, of: entry, named: upload.name, upload.attempt)
        let (token, arrived) = try await begin(upload, below: uploads)
        let directory = uploads + [Array(token.name.utf8)]
        do throws(ProviderError) {
            try await sendChunks(upload, token, arrived, to: directory)
            return try await finishing(upload.attempt) { () async throws(ProviderError) in
                try await self.assemble(upload, from: directory)
                try self.keep(nil, upload)
                let entry = try await self.stored(upload, at: upload.key)
                return try await self.described(entry, upload, at: upload.key)
            }
        } catch {
            if isOver(error, upload), (try? await abandon(token.token, of: upload.key)) != nil {
                try? keep(nil, upload)
            }
            throw error
        }
    }

    /// Takes up what the session kept, or begins anew.
    ///
    /// - Returns: Also the chunks that are there whole.
    private func begin(
        _ upload: WebDAVUpload, below uploads: [[UInt8]]
    ) async throws(ProviderError) -> (WebDAVChunkToken, arrived: Set<UInt64>) {
        if let token = upload.session.token.flatMap(WebDAVChunkToken.init),
            let arrived = try await arrived(upload, token, in: uploads + [Array(token.name.utf8)])
        {
            return (token, arrived)
        }
        let smallest = (upload.source.size + Self.chunksMax - 1) / Self.chunksMax
        let token = WebDAVChunkToken(
            name: WebDAVName.new().description.replacing(".apus-new-", with: "apus-"),
            chunkBytes: max(chunkBytes, (smallest + 1_048_575) & ~1_048_575))
        // Noted before it is there, so that nothing is left that nobody knows of.
        try keep(token.token, upload)
        let answer = try await client.send(
            .mkcol, client.address.url(uploads + [Array(token.name.utf8)], isCollection: true),
            headers: [destination(of: upload)], attempt: upload.attempt)
        guard answer.isSuccess else {
            let failure = answer.failure(upload.attempt)
            // It is not the file's directory that is missing here.
            let kind = failure.kind == .missing ? .unreachable : failure.kind
            throw ProviderError(
                kind, attempt: upload.attempt, reason: failure.reason,
                retryAfter: failure.retryAfter)
        }
        return (token, [])
    }

    /// The chunks that the server has whole; nil where it knows nothing of the upload any more.
    private func arrived(
        _ upload: WebDAVUpload, _ token: WebDAVChunkToken, in directory: [[UInt8]]
    ) async throws(ProviderError) -> Set<UInt64>? {
        let found = WebDAVBox<Set<UInt64>>()
        found.value = []
        do throws(ProviderError) {
            try await client.propfind(
                client.address.url(directory, isCollection: true), depth: 1,
                properties: "<D:getcontentlength/>", attempt: upload.attempt
            ) { entry in
                guard let path = WebDAVAddress.components(of: entry.href),
                    path.dropLast() == directory[...], let name = path.last,
                    let number = UInt64(String(decoding: name, as: UTF8.self)), number > 0,
                    let range = chunk(number, of: upload, token),
                    entry.size == UInt64(range.count)
                else { return }
                found.update { $0?.insert(number) }
            }
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
        return found.value
    }

    /// - Parameter number: From 1 on.
    /// - Returns: nil beyond the last.
    private func chunk(
        _ number: UInt64, of upload: WebDAVUpload, _ token: WebDAVChunkToken
    ) -> Range<UInt64>? {
        let (start, overflow) = (number - 1).multipliedReportingOverflow(by: token.chunkBytes)
        guard !overflow, start < upload.source.size else { return nil }
        return start..<min(start + token.chunkBytes, upload.source.size)
    }

    private func sendChunks(
        _ upload: WebDAVUpload, _ token: WebDAVChunkToken, _ arrived: Set<UInt64>,
        to directory: [[UInt8]]
    ) async throws(ProviderError) {
        let session = upload.session
        var sent = arrived.reduce(UInt64(0)) {
            $0 + UInt64(chunk($1, of: upload, token)?.count ?? 0)
        }
        session.noteSent(sent)
        var number: UInt64 = 1
        while let range = chunk(number, of: upload, token) {
            if !arrived.contains(number) {
                let before = sent
                // The server puts them together in the order of their names.
                let digits = String(number)
                let name = String(repeating: "0", count: 5 - digits.count) + digits
                let answer = try await client.send(
                    .put, client.address.url(directory + [Array(name.utf8)]),
                    headers: [
                        destination(of: upload),
                        ("OC-Total-Length", String(upload.source.size)),
                        ("Content-Type", "application/octet-stream"),
                    ],
                    body: .source(UploadBody(source: upload.source), range: range),
                    attempt: upload.attempt,
                    onProgress: { bytes, _ in
                        session.noteSent(before + min(bytes, UInt64(range.count)))
                    })
                guard answer.isSuccess else { throw dropped(answer, upload) }
                sent += UInt64(range.count)
            }
            number += 1
        }
    }

    /// Has the server put the chunks together, if the file still is what it is to replace.
    private func assemble(
        _ upload: WebDAVUpload, from directory: [[UInt8]]
    ) async throws(ProviderError) {
        var headers = [
            destination(of: upload), ("OC-Total-Length", String(upload.source.size)),
            ("X-OC-Mtime", "\(upload.attributes.modified.seconds)"),
        ]
        switch upload.base {
        case .absent: headers.append(("Overwrite", "F"))
        case .version(let mark):
            headers.append(("Overwrite", "T"))
            if let tag = WebDAVVersion.tag(of: mark) {
                // `If-Match` would be about the chunks: RFC 9110 applies it to what is moved.
                headers.append(("If", "<\(client.address.url(upload.key))> ([\(tag)])"))
            } else {
                let entry = try await look(at: upload.key, upload.attempt)
                try expect(upload.base, of: entry, named: upload.name, upload.attempt)
            }
        }
        let answer = try await client.send(
            .move, client.address.url(directory + [Array(".file".utf8)]), headers: headers,
            attempt: upload.attempt)
        switch answer.status {
        case 200..<300: return
        // The chunks do not make the file: none of them is to be trusted.
        case 400: throw lost(upload, "the server cannot put the chunks together")
        case 404, 409:
            let failure = await refusal(answer, of: upload)
            guard failure.kind == .missing, let parent = upload.key.parent,
                (try? await isCollection(parent, upload.attempt)) == true
            else { throw failure }
            throw lost(upload, "the server has dropped the upload")
        default: throw await refusal(answer, of: upload)
        }
    }

    private func destination(of upload: WebDAVUpload) -> (name: String, value: String) {
        ("Destination", client.address.url(upload.key))
    }

    /// What the refusal of a chunk means: the server forgets uploads after a day or so.
    private func dropped(_ answer: WebDAVAnswer, _ upload: WebDAVUpload) -> ProviderError {
        switch answer.status {
        case 404, 409, 410, 412: lost(upload, "the server has dropped the upload")
        default: answer.failure(upload.attempt)
        }
    }

    /// Forgets an upload that cannot be gone on with; the next try begins anew.
    private func lost(_ upload: WebDAVUpload, _ reason: String) -> ProviderError {
        ProviderError(.corrupt, attempt: upload.attempt, reason: reason)
    }

    /// Whether nobody will go on with what has arrived.
    func isOver(_ error: ProviderError, _ upload: WebDAVUpload) -> Bool {
        if upload.session is UntrackedUpload { return true }
        switch error.kind {
        case .exists, .changed, .missing, .wrongKind, .source, .corrupt: return true
        default: return false
        }
    }

    /// - Returns: Whether the token was one of an upload in chunks.
    func abandonChunks(
        _ token: UploadToken, of key: ObjectKey, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        guard let token = WebDAVChunkToken(token) else { return false }
        guard let uploads = server.uploads else { return true }
        let url = client.address.url(uploads + [Array(token.name.utf8)], isCollection: true)
        let place = client.address.url(key)
        let answer = try await cleaningUp { () async throws(ProviderError) in
            try await client.send(
                .delete, url, headers: [("Destination", place)], attempt: attempt)
        }
        guard answer.isSuccess || answer.status == 404 else { throw answer.failure(attempt) }
        return true
    }
}
