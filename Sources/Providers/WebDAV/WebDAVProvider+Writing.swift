package import Engine
import Transport

extension WebDAVProvider {
    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "write \(source.size) bytes to \"\(key)\""
        let upload = WebDAVUpload(
            key: key, name: try usableName(of: key, attempt), source: source,
            attributes: attributes, target: nil, base: base, session: session, attempt: attempt)
        return try await store(upload)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "create the symbolic link \"\(key)\""
        let name = try usableName(of: key, attempt)
        guard server.keepsProperties, (1...4095).contains(target.count), !target.contains(0),
            name.bytes.count <= server.propertyNameBytesMax
        else {
            throw ProviderError(
                .unsupported, attempt: attempt, reason: "the server cannot hold such a link")
        }
        // Other clients see a small file that says where the link points.
        let upload = WebDAVUpload(
            key: key, name: name, source: WebDAVBytes(bytes: target), attributes: attributes,
            target: target, base: .absent, session: UntrackedUpload(), attempt: attempt)
        return try await store(upload)
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "create the directory \"\(key)\""
        if key == .root {
            throw ProviderError(.exists, attempt: attempt, reason: "the root is always there")
        }
        let name = try usableName(of: key, attempt)
        return try await finishing(attempt) { () async throws(ProviderError) in
            // rclone calls it a success if there is a directory already.
            if server.replacing == .staged, try await look(at: key, attempt) != nil {
                throw ProviderError(.exists, attempt: attempt, reason: "something has this name")
            }
            let answer = try await client.send(
                .mkcol, client.address.url(key, isCollection: true), attempt: attempt)
            guard answer.isSuccess else {
                let failure = await explained(answer, key, attempt)
                let mayExist = [400, 403, 405, 409, 412].contains(answer.status)
                guard failure.kind != .missing || answer.status == 409, mayExist,
                    try await look(at: key, attempt) != nil
                else { throw failure }
                throw ProviderError(.exists, attempt: attempt, reason: "something has this name")
            }
            try await set(WebDAVAttributes(attributes, stamp: nil), of: key, attempt)
            return object(try await found(key, attempt), named: name).object
        }
    }

    /// The last name of a key that can be stored.
    func usableName(
        of key: ObjectKey, _ attempt: String
    ) throws(ProviderError) -> FileName {
        guard let name = key.names.last else {
            throw ProviderError(.exists, attempt: attempt, reason: "the root is always there")
        }
        guard let (reason, remedy) = refusal(of: name) else { return name }
        throw ProviderError(.unsupported, attempt: attempt, reason: reason, remedy: remedy)
    }

    /// Why a name cannot be stored, and what to do about that; nil where it can.
    private func refusal(of name: FileName) -> (reason: String, remedy: String)? {
        if server.hidesDotNames, name.bytes.first == UInt8(ascii: ".") {
            return (
                "the server hides names that begin with a dot, as \"\(name)\" does",
                "use another name, or a server that shows them, as Apache"
            )
        }
        if server.hidesDavfsNames, name.bytes.starts(with: WebDAVServer.davfsPrefix.utf8) {
            return (
                "Apache hides names that begin with \(WebDAVServer.davfsPrefix), as \"\(name)\" does",
                "use another name"
            )
        }
        if WebDAVName.isReserved(name) {
            return ("\"\(name)\" is a name that Apus keeps for itself", "use another name")
        }
        if !server.keepsAnyBytesInNames, String(validating: name.bytes, as: UTF8.self) == nil {
            return ("the server takes no names that are not UTF-8: \"\(name)\"", "use another name")
        }
        if server.composesNames, !WebDAVName.isComposed(name) {
            return (
                "the server keeps names in Unicode's composed form (NFC) only", "rename \"\(name)\""
            )
        }
        return nil
    }

    // MARK: Storing

    private func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        if Task.isCancelled {
            throw ProviderError(.cancelled, attempt: upload.attempt, reason: "cancelled")
        }
        // What has its bytes and not yet its property is a file.
        if upload.target != nil { return try await storeStaged(upload) }
        switch server.replacing {
        case .conditionally:
            if let uploads = server.uploads, upload.source.size > chunkBytes {
                return try await storeInChunks(upload, below: uploads)
            }
            return try await storeConditionally(upload)
        case .directly where upload.source.size <= Self.directBytesMax:
            return try await turns.taking(upload.key) { () async throws(ProviderError) in
                try await storeDirectly(upload)
            }
        case .directly:
            return try await storeStaged(upload)
        case .staged: return try await storeStaged(upload)
        }
    }

    /// One PUT, which the server itself guards.
    private func storeConditionally(
        _ upload: WebDAVUpload
    ) async throws(ProviderError) -> RemoteObject {
        var headers: [(name: String, value: String)] = []
        switch upload.base {
        case .absent: headers.append(("If-None-Match", "*"))
        case .version(let mark):
            guard let tag = WebDAVVersion.tag(of: mark) else {
                let entry = try await look(at: upload.key, upload.attempt)
                try expect(upload.base, of: entry, named: upload.name, upload.attempt)
                break
            }
            headers.append(("If-Match", tag))
        }
        if server.takesModified {
            headers.append(("X-OC-Mtime", "\(upload.attributes.modified.seconds)"))
        }
        let answer = try await put(upload, at: upload.key, headers)
        guard answer.isSuccess else { throw await refusal(answer, of: upload) }
        return try await cleaningUp { () async throws(ProviderError) in
            let entry = try await self.stored(upload, at: upload.key, answer)
            return try await self.described(entry, upload, at: upload.key)
        }
    }

    /// Bytes that a PUT may have whose condition is looked at when it begins.
    private static var directBytesMax: UInt64 { 1 << 20 }

    /// A PUT that takes effect in one step, and that its condition guards well enough since it is
    /// short.
    private func storeDirectly(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        let entry = try await look(at: upload.key, upload.attempt)
        try expect(upload.base, of: entry, named: upload.name, upload.attempt)
        let conditions =
            entry == nil ? [("If-None-Match", "*")] : conditions([(upload.key, entry?.etag)])
        let stored = try await putDiffering(upload, at: upload.key, conditions) {
            conditions async throws(ProviderError) in
            try await put(upload, at: upload.key, conditions)
        }
        return try await cleaningUp { () async throws(ProviderError) in
            try await self.described(stored, upload, at: upload.key)
        }
    }

    /// The header `If` that makes a change depend on the tags that were seen.
    func conditions(_ seen: [(key: ObjectKey, etag: String?)]) -> [(name: String, value: String)] {
        let lists = seen.compactMap { key, etag in
            etag.map { "<\(client.address.url(key))> ([\($0)])" }
        }
        return lists.isEmpty || !server.obeysIf ? [] : [("If", lists.joined(separator: " "))]
    }

    func keep(_ token: UploadToken?, _ upload: WebDAVUpload) throws(ProviderError) {
        do {
            try upload.session.keep(token)
        } catch {
            throw ProviderError(
                .source, attempt: upload.attempt,
                reason: "where it stands cannot be noted: \(error)", cause: error)
        }
    }

    /// Puts the bytes, again if the server's tag for them is that of the version they replace:
    /// servers that make tags of time and size do that within one tick of their clock.
    ///
    /// - Parameter send: Puts them, under conditions.
    func putDiffering(
        _ upload: WebDAVUpload, at key: ObjectKey, _ conditions: [(name: String, value: String)],
        _ send: ([(name: String, value: String)]) async throws(ProviderError) -> WebDAVAnswer
    ) async throws(ProviderError) -> WebDAVEntry {
        var pause = Duration.milliseconds(20)
        var conditions = conditions
        while true {
            let answer = try await send(conditions)
            guard answer.isSuccess else { throw await refusal(answer, of: upload) }
            let entry = try await cleaningUp { () async throws(ProviderError) in
                try await self.stored(upload, at: key, answer)
            }
            guard case .version(let base) = upload.base,
                WebDAVVersion(entry).stamp == WebDAVVersion.tag(of: base)
                    || WebDAVVersion(entry).mark(isSettled: false) == base
            else { return entry }
            guard pause < .seconds(10) else {
                throw ProviderError(
                    .unsupported, attempt: upload.attempt,
                    reason: "the server does not tell one version from another")
            }
            try await wait(pause, upload.attempt)
            pause = pause < .seconds(1) ? Self.ripening : pause * 4
            if !conditions.isEmpty { conditions = self.conditions([(key, entry.etag)]) }
        }
    }

    func put(
        _ upload: WebDAVUpload, at key: ObjectKey, _ headers: [(name: String, value: String)]
    ) async throws(ProviderError) -> WebDAVAnswer {
        let session = upload.session
        let size = upload.source.size
        let body: HTTPBody =
            size == 0 ? .bytes([]) : .source(UploadBody(source: upload.source), range: 0..<size)
        session.noteSent(0)
        return try await client.send(
            .put, client.address.url(key),
            headers: headers + [("Content-Type", "application/octet-stream")], body: body,
            attempt: upload.attempt, onProgress: { sent, _ in session.noteSent(min(sent, size)) })
    }

    /// What the server has stored.
    ///
    /// - Parameter answer: To the PUT, where nothing has moved since.
    /// - Throws: `.changed` where that is another version than the server's answer named,
    ///   `.unreachable` where it has not the size of what was sent.
    func stored(
        _ upload: WebDAVUpload, at key: ObjectKey, _ answer: WebDAVAnswer? = nil
    ) async throws(ProviderError) -> WebDAVEntry {
        let entry = try await found(key, upload.attempt)
        // Only some servers answer a PUT with a tag (RFC 9110, 9.3.4), and not all with quotes.
        if let named = answer?.response.headers["ETag"], let etag = entry.etag,
            WebDAVVersion.opaque(named) != WebDAVVersion.opaque(etag)
        {
            throw ProviderError(
                .changed, attempt: upload.attempt, reason: "somebody else wrote it at this moment")
        }
        guard !entry.isCollection, entry.size == upload.source.size else {
            throw ProviderError(
                .unreachable, attempt: upload.attempt,
                reason: "the server has \(entry.length ?? "no") of \(upload.source.size) bytes")
        }
        return entry
    }

    /// Sets the attributes of what was stored, and tells what it is now.
    func described(
        _ entry: WebDAVEntry, _ upload: WebDAVUpload, at key: ObjectKey
    ) async throws(ProviderError) -> RemoteObject {
        var entry = entry
        let attributes = WebDAVAttributes(
            upload.attributes, stamp: WebDAVVersion(entry).stamp,
            word: server.sharesTags ? upload.word : nil, target: upload.target)
        let isKept = try await set(attributes, of: key, name: upload.name, upload.attempt)
        entry.attributes = isKept ? attributes.text : nil
        return try await settled(
            entry, key, named: upload.name, afterChange: true, upload.attempt)
    }

    func refusal(
        _ answer: WebDAVAnswer, of upload: WebDAVUpload
    ) async -> ProviderError {
        guard answer.status == 412 else {
            return await explained(answer, upload.key, upload.attempt)
        }
        let failure = answer.failure(upload.attempt)
        do throws(ProviderError) {
            let entry = try await look(at: upload.key, upload.attempt)
            try expect(upload.base, of: entry, named: upload.name, upload.attempt)
            return failure
        } catch {
            return error.isPassing ? failure : error
        }
    }

    // MARK: Properties

    /// Sets our own property, where the server keeps such.
    ///
    /// - Parameter name: Under which it will be kept; by default the key's own.
    /// - Returns: Whether it is kept.
    @discardableResult
    func set(
        _ attributes: WebDAVAttributes, of key: ObjectKey, name: FileName? = nil, _ attempt: String
    ) async throws(ProviderError) -> Bool {
        let bytes = (name ?? key.names.last)?.bytes.count ?? 0
        let isOfNote = server.keepsProperties && !attributes.extendedAttributes.isEmpty
        guard server.keepsProperties, bytes <= server.propertyNameBytesMax else {
            if isOfNote { throw notKept(attempt) }
            return false
        }
        let element = "<A:\(WebDAVAttributes.name)>\(attributes.text)</A:\(WebDAVAttributes.name)>"
        let body = WebDAVClient.xml(
            "D:propertyupdate", "<D:set><D:prop>\(element)</D:prop></D:set>")
        let answer = try await client.send(
            .proppatch, client.address.url(key),
            headers: [("Content-Type", WebDAVClient.xmlType)], body: .bytes(body), attempt: attempt)
        guard answer.isSuccess else { throw await explained(answer, key, attempt) }
        if isOfNote {
            // A server may say yes and mean that it has looked at the request.
            let kept = try await look(at: key, attempt)?.attributes
            guard kept.map(WebDAVAttributes.init(parsing:)) == attributes else {
                throw notKept(attempt)
            }
        }
        return true
    }

    private func notKept(_ attempt: String) -> ProviderError {
        ProviderError(
            .unsupported, attempt: attempt, reason: "the server keeps no extended attributes of it")
    }
}

/// One file on its way to the server.
struct WebDAVUpload: Sendable {
    let key: ObjectKey
    let name: FileName
    let source: any ByteSource
    let attributes: ObjectAttributes
    /// Where it points, if it is to be a symbolic link.
    let target: [UInt8]?
    let base: BaseVersion
    let session: any UploadSession
    let attempt: String
    /// See ``WebDAVAttributes/word``.
    let word = WebDAVAttributes.newWord()
}

/// A few bytes as a source.
private struct WebDAVBytes: ByteSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let rest = bytes[Int(min(offset, size))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// The engine's source, as the transport wants it.
struct UploadBody: HTTPBodySource {
    let source: any ByteSource

    var size: UInt64 { source.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try source.read(into: buffer, at: offset)
    }
}
