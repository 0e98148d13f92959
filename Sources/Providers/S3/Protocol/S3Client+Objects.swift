import Digests
import Engine
import Foundation
import ProviderSupport
import SystemCalls
import Transport

/// The properties of one object, from the headers of an answer.
struct S3Head: Hashable, Sendable {
    let etag: ETag
    /// 0 if ``isSized`` is false.
    let size: UInt64
    /// Whether the store tells the size.
    let isSized: Bool
    let modified: Timestamp
    /// The time up to which this includes every write, by the store's clock. Since that counts
    /// seconds, ``modified`` is one second too late if that second was not over when the store
    /// answered.
    let remoteModified: Timestamp?
    let metadata: S3Metadata
    /// Headers of the object itself, for a copy that replaces its metadata.
    let ownHeaders: [String: String]

    /// Whether a copy has another ETag: those of objects made in parts, or encrypted with a key of the
    /// user's, are not the MD5 of their bytes.
    var givesCopiesOtherETags: Bool {
        let encryption = ownHeaders["x-amz-server-side-encryption"]
        return S3ETag.isOfParts(etag) || encryption != nil && encryption != "AES256"
    }

    /// Whether this is the copy of an object that an earlier call has made, with all metadata.
    ///
    /// - Parameter metadata: That of the copy; nil for that of the object.
    func isCopy(of head: S3Head, with metadata: S3Metadata? = nil) -> Bool {
        var expected = metadata ?? head.metadata
        if expected.modified == nil { expected.setModified(head.modified) }
        return size == head.size && self.metadata == expected
            && (etag == head.etag || head.givesCopiesOtherETags)
    }

    private static let ownNames = [
        "content-type", "cache-control", "content-disposition", "content-encoding",
        "content-language", "expires", "x-amz-website-redirect-location", "x-amz-storage-class",
        "x-amz-server-side-encryption", "x-amz-server-side-encryption-aws-kms-key-id",
    ]

    /// - Parameter size: That of the object; nil if the answer is as long.
    init(_ headers: HTTPHeaders, size: UInt64? = nil) {
        etag = S3ETag.etag(headers["etag"] ?? "")
        let size = size ?? headers["content-length"].flatMap { UInt64($0) }
        isSized = size.map { $0 <= UInt64(Int64.max) } ?? false
        self.size = isSized ? size ?? 0 : 0
        let modified = headers["last-modified"].flatMap(Timestamp.init(httpDate:))
        let now = headers["date"].flatMap(Timestamp.init(httpDate:))
        self.modified = modified ?? Timestamp(nanoseconds: 0)
        remoteModified = modified.map { modified in
            Self.isOver(modified, at: now) ? modified : Timestamp(seconds: modified.seconds - 1)
        }
        var values: [String: String] = [:]
        for field in headers where field.name.hasPrefix(S3Metadata.prefix) {
            values[String(field.name.dropFirst(S3Metadata.prefix.count))] = field.value
        }
        var metadata = S3Metadata(values)
        metadata.add(contentType: headers["content-type"] ?? "")
        self.metadata = metadata
        ownHeaders = Self.ownNames.reduce(into: [:]) { $0[$1] = headers[$1] }
    }

    /// ``remoteModified`` for a write that the store answered at `time` without telling more.
    static func before(_ time: Timestamp) -> Timestamp { Timestamp(seconds: time.seconds - 2) }

    /// The clocks of one store's machines may differ by up to a second.
    private static func isOver(_ time: Timestamp, at now: Timestamp?) -> Bool {
        guard let now else { return true }
        let (difference, overflow) = now.seconds.subtractingReportingOverflow(time.seconds)
        return overflow || difference.magnitude > 1
    }
}

/// The state that a change expects to find, sent as a header if the store honours it.
enum S3Condition: Hashable, Sendable {
    case absent
    case version(ETag)

    init(_ base: BaseVersion) {
        switch base {
        case .absent: self = .absent
        case .version(let etag): self = .version(etag)
        }
    }

    var header: (name: String, value: String) {
        switch self {
        case .absent: ("If-None-Match", "*")
        case .version(let etag): ("If-Match", S3ETag.header(etag))
        }
    }
}

extension S3Condition? {
    var headers: [(name: String, value: String)] { map { [$0.header] } ?? [] }
}

extension S3Client {
    /// - Returns: nil if there is no such object.
    /// - Throws: Except for the markers of directories, `.unsupported` if the store does not tell the
    ///   size: taken for an empty file, it would be overwritten with the first line appended to it.
    ///   `.corrupt` if the store does not tell the version: it would seem to have changed.
    func head(_ key: S3Key) async throws(ProviderError) -> S3Head? {
        let head: S3Head
        do {
            head = S3Head(try await ask(Call(method: .head, key: key)).0.headers)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
        if key.isMarker, head.size == 0 { return head }
        guard !head.etag.description.isEmpty else { throw Self.withoutETag }
        guard head.isSized else {
            throw ProviderError(
                .unsupported, "the store does not tell the size of \"\(key)\" (Content-Length)",
                remedy: "use another name; the existing object is left alone")
        }
        return head
    }

    /// Requests the head of an object, and its first bytes with it.
    ///
    /// - Parameter count: The number of bytes, at most.
    /// - Returns: nil if there is no object. There are no bytes if the store refuses to send them alone,
    ///   as it does of an empty object.
    func start(
        of key: S3Key, bytes count: Int
    ) async throws(ProviderError) -> (head: S3Head, bytes: [UInt8])? {
        let call = Call(
            method: .get, key: key,
            headers: [("Range", "bytes=0-\(count - 1)"), ("x-amz-checksum-mode", "ENABLED")])
        let (response, bytes): (HTTPResponse, [UInt8])
        do {
            (response, bytes) = try await ask(call, bytesMax: count)
        } catch {
            if error.kind == .missing { return nil }
            let isRefused = error.refusal != nil || error.kind == .corrupt
            guard isRefused, ![.busy, .unauthorized].contains(error.kind) else { throw error }
            return try await head(key).map { ($0, []) }
        }
        let content = response.headers["content-range"].flatMap(ContentRange.init)
        let isRange = response.status == 206
        let found = S3Head(response.headers, size: isRange ? content?.total ?? .max : nil)
        guard found.isSized, !found.etag.description.isEmpty else {
            return try await head(key).map { ($0, []) }
        }
        let isComplete =
            bytes.count == min(count, Int(clamping: found.size))
            && (!isRange || content?.range == 0..<UInt64(bytes.count))
        let isSound = isComplete && Self.hasKeptChecksum(bytes, found, response.headers)
        return (found, isSound ? bytes : [])
    }

    /// Whether the first bytes of an object have the checksum that the store keeps, if they are all.
    private static func hasKeptChecksum(
        _ bytes: [UInt8], _ head: S3Head, _ headers: HTTPHeaders
    ) -> Bool {
        guard bytes.count == head.size, let kept = S3Checksum.kept(of: headers, etag: head.etag)
        else { return true }
        var sum = kept.sum
        bytes.withUnsafeBytes { sum.update($0) }
        return sum.text == kept.expected
    }

    func list(
        prefix: S3Key, delimiter: Bool, token: String? = nil, max: Int? = nil,
        waitsForTurn: Bool = true
    ) async throws(ProviderError) -> S3Listing {
        var call = Call(
            method: .get,
            query: [
                ("list-type", "2"), ("encoding-type", "url"),
                ("max-keys", String(max ?? settings.limits.pageEntries)),
                ("prefix", prefix.description),
            ])
        call.waitsForTurn = waitsForTurn
        if delimiter { call.query.append(("delimiter", "/")) }
        if let token { call.query.append(("continuation-token", token)) }
        let (_, body) = try await ask(call)
        return try parse(body) { root throws(XMLError) in
            let listing = try S3Listing(root)
            if let token, listing.next == token {
                throw XMLError("the next page is the same one")
            }
            return listing
        }
    }

    /// Stores bytes that are in memory.
    ///
    /// - Throws: `.corrupt` also if the store does not tell the new version, which is not needed of
    ///   markers.
    func put(
        _ key: S3Key, _ bytes: [UInt8], headers: [(name: String, value: String)],
        _ condition: S3Condition?
    ) async throws(ProviderError) -> ETag {
        var call = Call(method: .put, key: key, headers: headers + condition.headers)
        call.setBody(bytes)
        let (response, _) = try await ask(call)
        return try key.isMarker
            ? S3ETag.etag(response.headers["etag"] ?? "") : Self.etag(of: response)
    }

    /// Copies within the bucket.
    ///
    /// - Parameters:
    ///   - headers: The new object's own; nil to keep those of the source.
    ///   - etag: The version of the source.
    func copy(
        _ source: S3Key, etag: ETag, to key: S3Key, headers: [(name: String, value: String)]?,
        storageClass: String?, _ condition: S3Condition?
    ) async throws(ProviderError) -> ETag {
        var call = Call(
            method: .put, key: key, headers: copySource(source, etag: etag), body: .bytes([]),
            stallTimeout: .seconds(600))
        if let headers {
            call.headers += [("x-amz-metadata-directive", "REPLACE")] + headers
        } else {
            call.headers.append(("x-amz-metadata-directive", "COPY"))
            if let storageClass { call.headers.append(("x-amz-storage-class", storageClass)) }
        }
        call.headers += condition.headers
        return S3ETag.etag(
            try await ask(call, for: "ETag", "the answer to a copy has no ETag"))
    }

    func delete(_ key: S3Key, etag: ETag?) async throws(ProviderError) {
        let condition = etag.map { S3Condition.version($0) }
        _ = try await ask(Call(method: .delete, key: key, headers: condition.headers))
    }

    /// Deletes an object that may be gone already. Some stores say so.
    func remove(_ key: S3Key) async throws(ProviderError) {
        do throws(ProviderError) {
            try await delete(key, etag: nil)
        } catch {
            guard error.kind == .missing else { throw error }
        }
    }

    struct Deletions: Hashable, Sendable {
        /// Keys that the store reports as deleted.
        var gone: Set<S3Key> = []
        /// Error codes of the others: `PreconditionFailed`.
        var refused: [S3Key: String] = [:]
    }

    /// Deletes up to 1,000 versions in one request.
    func delete(_ versions: [(key: S3Key, etag: ETag)]) async throws(ProviderError) -> Deletions {
        let objects = versions.map { key, etag in
            "<Object><Key>\(Self.escaped(key.description))</Key>"
                + "<ETag>\(Self.escaped(S3ETag.header(etag)))</ETag></Object>"
        }
        let body = Array(
            ("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" + objects.joined()
                + "</Delete>").utf8)
        var call = Call(
            method: .post, query: [("delete", "")],
            headers: [
                ("Content-Type", "application/xml"),
                ("Content-MD5", Data(MD5.hash(data: body)).base64EncodedString()),
            ])
        call.setBody(body)
        let (_, answer) = try await ask(call)
        let root = try parseAnswer(answer)
        var deletions = Deletions()
        for element in root.all("Deleted") {
            if let key = element.text("Key") { deletions.gone.insert(S3Key(key)) }
        }
        for element in root.all("Error") {
            guard let key = element.text("Key") else { continue }
            deletions.refused[S3Key(key)] = element.text("Code") ?? ""
        }
        return deletions
    }

    func copySource(_ key: S3Key, etag: ETag) -> [(name: String, value: String)] {
        let path = "/\(settings.bucket)/" + PercentCoding.encode(key.bytes, keepsSlash: true)
        return [
            ("x-amz-copy-source", path), ("x-amz-copy-source-if-match", S3ETag.header(etag)),
        ]
    }
}
