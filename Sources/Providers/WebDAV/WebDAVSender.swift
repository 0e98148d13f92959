import Engine
import ProviderSupport
import SystemCalls
import Transport

/// The steps of an upload that all strategies share.
struct WebDAVSender: Sendable {
    let lookup: WebDAVLookup
    let properties: WebDAVProperties

    private static let pauseMax: Duration = .seconds(10)

    /// Sends all bytes with one PUT.
    func put(
        _ upload: WebDAVUpload, at key: ObjectKey, _ headers: WebDAVLookup.Headers
    ) async throws(ProviderError) -> WebDAVAnswer {
        let session = upload.session
        let size = upload.size
        session.noteSent(0)
        return try await lookup.client.send(
            .put, lookup.client.address.url(key),
            headers: headers + [("Content-Type", "application/octet-stream")],
            body: try HTTPBody(reading: upload.source, 0..<size),
            onProgress: { sent, _ in session.noteSent(min(sent, size)) })
    }

    /// Stores the bytes, and repeats that if the version tag is still that of the base version:
    /// servers that make tags from time and size do not change them within one tick of their clock.
    ///
    /// - Parameter send: Sends the bytes under conditions. It returns the answer, or nil if it took several
    ///   requests, none of which was refused.
    func putDistinct(
        _ upload: WebDAVUpload, at key: ObjectKey, _ conditions: WebDAVLookup.Headers,
        _ send: (WebDAVLookup.Headers) async throws(ProviderError) -> WebDAVAnswer?
    ) async throws(ProviderError) -> WebDAVEntry {
        var pause = Duration.milliseconds(20)
        var conditions = conditions
        while true {
            let answer = try await send(conditions)
            if let answer, !answer.isSuccess { throw await refusal(answer, of: upload) }
            let entry = try await cleaningUp { () async throws(ProviderError) in
                try await stored(upload, at: key, answer)
            }
            guard case .version(let base) = upload.base,
                WebDAVVersion(entry).opaqueTag == WebDAVVersion.etag(in: base)
                    || WebDAVVersion(entry).versionTag(isStable: false) == base
            else { return entry }
            guard pause < Self.pauseMax else {
                throw ProviderError(
                    .unsupported, "the server does not distinguish versions")
            }
            try await lookup.clock.wait(pause)
            pause = pause < .seconds(1) ? WebDAVLookup.weakPeriod : pause * 4
            if !conditions.isEmpty {
                conditions = lookup.matching([(key, entry.etag)])
            }
        }
    }

    /// Returns the entry of a file just stored.
    ///
    /// - Parameter answer: The answer to the PUT, if the file was not moved since.
    /// - Throws: `.changed` if the answer named another version, `.unreachable` if the size differs.
    func stored(
        _ upload: WebDAVUpload, at key: ObjectKey, _ answer: WebDAVAnswer? = nil
    ) async throws(ProviderError) -> WebDAVEntry {
        let entry = try await lookup.found(key)
        // Only some servers answer a PUT with a tag (RFC 9110, 9.3.4), and not all of them quote it.
        if let named = answer?.response.headers["ETag"], let etag = entry.etag,
            WebDAVVersion.unquoted(named) != WebDAVVersion.unquoted(etag)
        {
            throw .changedMeanwhile
        }
        guard !entry.isCollection, entry.size == upload.size else {
            throw ProviderError(
                .unreachable,
                "the server has \(entry.length ?? "none") of \(upload.size) bytes")
        }
        return entry
    }

    /// Sets the attributes of a stored file.
    ///
    /// - Returns: The object, with a version tag that lasts.
    func describe(
        _ entry: WebDAVEntry, _ upload: WebDAVUpload, at key: ObjectKey
    ) async throws(ProviderError) -> RemoteObject {
        var entry = entry
        let attributes = WebDAVAttributes(
            upload.attributes, etag: WebDAVVersion(entry).opaqueTag,
            nonce: upload.nonce, target: upload.target)
        let isKept = try await properties.set(attributes, of: key, name: upload.name)
        entry.attributes = isKept ? attributes.text : nil
        return try await lookup.stable(entry, key, named: upload.name, afterChange: true)
    }

    /// Throws unless the key holds the base version.
    func expectBase(of upload: WebDAVUpload) async throws(ProviderError) {
        try await lookup.expect(upload.base, at: upload.key, named: upload.name)
    }

    /// Explains a refused upload, a failed condition by the version that is there.
    func refusal(
        _ answer: WebDAVAnswer, of upload: WebDAVUpload
    ) async -> ProviderError {
        // Apache answers 409 for a directory of this name as well as for a missing parent.
        let mayBeTaken = upload.base == .absent && [405, 409].contains(answer.status)
        if answer.status == 412 || mayBeTaken {
            do throws(ProviderError) {
                try await expectBase(of: upload)
            } catch {
                if !error.isPassing { return error }
            }
        }
        return answer.status == 412 ? answer.failure : await lookup.explained(answer, upload.key)
    }
}

/// One file to be stored.
struct WebDAVUpload: Sendable {
    let key: ObjectKey
    let name: FileName
    let source: any ByteSource
    let attributes: ObjectAttributes
    /// The target of a symbolic link.
    var target: [UInt8]?
    let base: BaseVersion
    let session: any UploadSession
    private let ownNonce = Hexadecimal.nonce()

    var size: UInt64 { source.size }

    /// See ``WebDAVAttributes/nonce``.
    var nonce: String { session.nonce?.description ?? ownNonce }

    /// Stores the state of the upload durably.
    func keep(_ token: UploadToken?) throws(ProviderError) {
        do {
            try session.keep(token)
        } catch {
            throw ProviderError(
                .source, "the state of the upload cannot be stored: \(error)", cause: error)
        }
    }

    /// Whether no later try will use the bytes that have arrived.
    func isOver(after error: ProviderError) -> Bool {
        if session is UntrackedUpload { return true }
        return [.exists, .changed, .missing, .wrongKind, .source, .corrupt].contains(error.kind)
    }
}

/// A few bytes as a source.
struct WebDAVBytes: ByteSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let rest = bytes[Int(min(offset, size))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}
