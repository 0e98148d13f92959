import Digests
import Engine
import Foundation
import Logging
import Synchronization
import SystemCalls
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// A bucket in memory behind the client's wire, and somebody else who comes in between. It knows
/// objects, copies, the first pages of listings and uploads in parts; conditions only of PUTs, copies and
/// DELETEs.
final class TinyS3: S3Wire {
    struct Object: Sendable {
        var etag: String
        var bytes: [UInt8]
        /// What a HEAD tells besides, in lower case.
        var headers: [String: String] = [:]
        /// The time that listings tell.
        var modified: String?
    }

    struct Upload: Sendable {
        var key: String
        var headers: [String: String]
        var begun = "2020-09-13T12:26:40.000Z"
        var parts: [Int: [UInt8]] = [:]
    }

    struct State: Sendable {
        var objects: [String: Object] = [:]
        var uploads: [String: Upload] = [:]
        /// Keys of directories that no listing shows, as SeaweedFS has of those that others emptied,
        /// and of those that never had a marker: they are there for HEAD and for conditions.
        var folders: Set<String> = []
        /// Keys of directories that others emptied and that the listing of the directory above still
        /// shows, as SeaweedFS does for a while.
        var emptied: Set<String> = []
        var requests: [HTTPRequest] = []
        /// Whether the last step of an upload in parts is put off.
        var isBusyAtEnd = false
        /// Operations that are carried out and whose answer is lost.
        var unanswered: Set<String> = []
        /// After so many more requests nobody is there any more.
        var requestsLeft = Int.max
        /// The store's clock: 1,600,000,000 s since 1970 at first.
        var now = "Sun, 13 Sep 2020 12:26:40 GMT"
        /// Whether we may not list uploads.
        var deniesUploads = false
        /// After so many more requests the credentials are refused.
        var requestsTrusted = Int.max
        /// The status with which each DELETE is refused.
        var deletionRefusal: Int?
        /// The status with which each GET of an object is refused.
        var readingRefusal: Int?
        /// Whether something before the store takes the ETag of each answer away.
        var losesETags = false
        /// Whether deleting what is not there is answered with 404, as some stores do.
        var missesWhatIsDeleted = false
        /// How many entries of a directory a listing tells; there is no second page.
        var entriesMax = Int.max
        /// The time that listings tell of new objects.
        var modified: String?
    }

    /// Changes what is there right after a request was answered.
    typealias Intruder = @Sendable (_ operation: String, inout State) -> Void

    let state = Mutex(State())
    private let intruder: Intruder

    init(intruder: @escaping Intruder = { _, _ in }) {
        self.intruder = intruder
    }

    func provider(
        prefix: String = "", storageClass: String? = nil, clock: any Clock = ClockAtOnce(),
        copyBytesMax: UInt64 = 5 << 30, wire: (any S3Wire)? = nil
    ) throws -> S3Provider {
        var settings = S3Settings(bucket: "bucket", prefix: S3Key(prefix))
        settings.limits.wholeBytesMax = 8
        settings.limits.partBytes = 8
        settings.limits.copyBytesMax = copyBytesMax
        settings.limits.copyPartBytes = min(settings.limits.copyPartBytes, copyBytesMax)
        settings.storageClass = storageClass
        let endpoint = try #require(
            S3Endpoint(url: "http://store", bucket: "bucket", isPathStyle: true))
        let provider = try S3Provider(
            S3Client(
                settings: settings, endpoint: endpoint, region: "us-east-1", wire: wire ?? self,
                clock: clock, credentials: nil,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        provider.probe.known.withLock { $0 = S3Conditions() }
        return provider
    }

    /// What was asked for, as METHOD and what follows the bucket.
    var asked: [String] {
        state.withLock { $0.requests.map { "\($0.method.rawValue) \(Self.place($0))" } }
    }

    private static func place(_ request: HTTPRequest) -> String {
        String(request.url.dropFirst("http://store/bucket".count))
    }

    func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        let served = state.withLock { state -> (answer: Answer, date: String)? in
            guard state.requestsLeft > 0 else { return nil }
            state.requestsLeft -= 1
            state.requests.append(request)
            var (operation, answer) = Self.answer(request, &state)
            intruder(operation, &state)
            if state.losesETags { answer.headers["etag"] = nil }
            return state.unanswered.contains(operation) ? nil : (answer, state.now)
        }
        guard let ((status, headers, body), date) = served else {
            throw TransportError(.interrupted, attempt: "", reason: "nobody answers")
        }
        let fields = headers.map { (name: $0.key, value: $0.value) } + [("date", date)]
        let response = HTTPResponse(status: status, headers: HTTPHeaders(fields))
        do {
            if request.method != .head {
                try Array(body.utf8).withUnsafeBytes { try sink.receive($0, of: response) }
            }
        } catch {
            throw TransportError(.sink, attempt: "", reason: "\(error)", cause: error)
        }
        return response
    }

    private typealias Answer = (status: Int, headers: [String: String], body: String)

    private static func answer(
        _ request: HTTPRequest, _ state: inout State
    ) -> (operation: String, answer: Answer) {
        let parts = place(request).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let key = String(parts[0].dropFirst()).removingPercentEncoding ?? ""
        var query: [String: String] = [:]
        for pair in parts.dropFirst().joined().split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            query[String(name)] = String(pair.dropFirst(name.count + 1)).removingPercentEncoding
        }
        var headers: [String: String] = [:]
        for header in request.headers { headers[header.name.lowercased()] = header.value }
        state.requestsTrusted -= 1
        if state.requestsTrusted < 0 {
            return ("refuse", (403, [:], "<Error><Code>InvalidAccessKeyId</Code></Error>"))
        }
        switch request.method {
        case .get where query["uploads"] != nil && state.deniesUploads:
            return ("uploads", (403, [:], "<Error><Code>AccessDenied</Code></Error>"))
        case .get where query["uploads"] != nil: return ("uploads", uploads(query, state))
        case .get where query["uploadId"] != nil: return ("parts", partList(query, state))
        case .get where key.isEmpty: return ("list", list(query, state))
        case .get where state.readingRefusal != nil:
            return ("get", (state.readingRefusal ?? 403, [:], ""))
        case .get, .head:
            let folder = state.folders.contains(key) ? Object(etag: "folder", bytes: []) : nil
            guard let object = state.objects[key] ?? folder else {
                return ("head", (404, [:], ""))
            }
            var told = object.headers
            told["etag"] = "\"\(object.etag)\""
            told["content-length"] = String(object.bytes.count)
            return ("head", (200, told, String(decoding: object.bytes, as: UTF8.self)))
        case .post where query["delete"] != nil: return ("batch", batch(request, &state))
        case .post where query["uploads"] != nil:
            let id = "upload-\(state.requests.count)"
            state.uploads[id] = Upload(key: key, headers: own(headers))
            return ("begin", (200, [:], "<R><UploadId>\(id)</UploadId></R>"))
        case .post where state.isBusyAtEnd: return ("complete", (503, [:], ""))
        case .post:
            guard let upload = state.uploads.removeValue(forKey: query["uploadId"] ?? "") else {
                return ("complete", (404, [:], "<Error><Code>NoSuchUpload</Code></Error>"))
            }
            let bytes = upload.parts.sorted { $0.key < $1.key }.flatMap(\.value)
            let etag = "\(tag(bytes))-\(upload.parts.count)"
            state.objects[key] = Object(etag: etag, bytes: bytes, headers: upload.headers)
            return ("complete", (200, [:], "<R><ETag>\"\(etag)\"</ETag></R>"))
        case .delete:
            if let id = query["uploadId"] {
                state.uploads[id] = nil
            } else if let refusal = state.deletionRefusal {
                return ("delete", (refusal, [:], ""))
            } else if state.missesWhatIsDeleted, state.objects[key] == nil {
                return ("delete", (404, [:], "<Error><Code>NoSuchKey</Code></Error>"))
            } else if let expected = headers["if-match"],
                expected != "\"\(state.objects[key]?.etag ?? "")\""
            {
                return ("delete", (412, [:], "<Error><Code>PreconditionFailed</Code></Error>"))
            } else {
                state.objects[key] = nil
                state.folders.remove(key)
            }
            return ("delete", (204, [:], ""))
        case .put where query["uploadId"] != nil:
            let (id, number) = (query["uploadId"] ?? "", Int(query["partNumber"] ?? "") ?? 0)
            guard state.uploads[id] != nil else {
                return ("part", (404, [:], "<Error><Code>NoSuchUpload</Code></Error>"))
            }
            let bytes = copied(headers, state) ?? content(request)
            state.uploads[id]?.parts[number] = bytes
            let etag = "\"\(tag(bytes))\""
            return ("part", (200, ["etag": etag], "<R><ETag>\(etag)</ETag></R>"))
        default: return put(key, request, headers, &state)
        }
    }

    private static func put(
        _ key: String, _ request: HTTPRequest, _ headers: [String: String], _ state: inout State
    ) -> (operation: String, answer: Answer) {
        let expected = headers["if-match"]
        let folder = state.folders.contains(key) ? "\"folder\"" : nil
        let isThere = state.objects[key].map { "\"\($0.etag)\"" } ?? folder
        if headers["if-none-match"] != nil && isThere != nil
            || expected != nil && expected != isThere
        {
            return ("put", (412, [:], "<Error><Code>PreconditionFailed</Code></Error>"))
        }
        if let source = headers["x-amz-copy-source"] {
            let from = String(source.dropFirst("/bucket/".count)).removingPercentEncoding ?? ""
            guard var object = state.objects[from] else { return ("copy", (404, [:], "")) }
            if let expected = headers["x-amz-copy-source-if-match"],
                expected != "\"\(object.etag)\""
            {
                return ("put", (412, [:], "<Error><Code>PreconditionFailed</Code></Error>"))
            }
            if headers["x-amz-metadata-directive"] == "REPLACE" { object.headers = own(headers) }
            object.etag = "copy-of-\(object.etag)"
            state.objects[key] = object
            return ("copy", (200, [:], "<R><ETag>\"\(object.etag)\"</ETag></R>"))
        }
        let bytes = content(request)
        state.objects[key] = Object(
            etag: tag(bytes), bytes: bytes, headers: own(headers), modified: state.modified)
        return ("put", (200, ["etag": "\"\(tag(bytes))\""], ""))
    }

    private static func list(_ query: [String: String], _ state: State) -> Answer {
        let prefix = query["prefix"] ?? ""
        var shown: Set<String> = []
        var body = ""
        var count = 0
        let isWalk = query["delimiter"] == nil
        let countMax = isWalk ? Int(query["max-keys"] ?? "") ?? 1_000 : state.entriesMax
        for (key, object) in state.objects.sorted(by: { $0.key < $1.key })
        where key.hasPrefix(prefix) {
            count += 1
            if count > countMax { break }
            let rest = key.dropFirst(prefix.count)
            if !isWalk, let slash = rest.firstIndex(of: "/") {
                let name = prefix + rest[...slash]
                if shown.insert(name).inserted {
                    body += "<CommonPrefixes><Prefix>\(name)</Prefix></CommonPrefixes>"
                }
            } else {
                body +=
                    "<Contents><Key>\(key)</Key><Size>\(object.bytes.count)</Size>"
                    + "<ETag>\"\(object.etag)\"</ETag>"
                    + (object.modified.map { "<LastModified>\($0)</LastModified>" } ?? "")
                    + "</Contents>"
            }
        }
        for key in state.emptied.sorted()
        where !isWalk && key.hasPrefix(prefix) && key != prefix && !shown.contains(key) {
            body += "<CommonPrefixes><Prefix>\(key)</Prefix></CommonPrefixes>"
        }
        if count > countMax {
            body +=
                "<IsTruncated>true</IsTruncated>"
                + "<NextContinuationToken>next</NextContinuationToken>"
        }
        return (200, [:], "<ListBucketResult>\(body)</ListBucketResult>")
    }

    private static func batch(_ request: HTTPRequest, _ state: inout State) -> Answer {
        guard let root = try? S3Element(parsing: content(request)), root.name == "Delete" else {
            return (400, [:], "<Error><Code>MalformedXML</Code></Error>")
        }
        var body = ""
        for object in root.all("Object") {
            let key = object.text("Key") ?? ""
            if state.objects[key].map({ "\"\($0.etag)\"" }) == object.text("ETag") {
                state.objects[key] = nil
                body += "<Deleted><Key>\(key)</Key></Deleted>"
            } else {
                body += "<Error><Key>\(key)</Key><Code>PreconditionFailed</Code></Error>"
            }
        }
        return (200, [:], "<DeleteResult>\(body)</DeleteResult>")
    }

    private static func uploads(_ query: [String: String], _ state: State) -> Answer {
        func mark(_ key: String?, _ id: String?) -> String { "\(key ?? "") \(id ?? "")" }
        let marker = mark(query["key-marker"], query["upload-id-marker"])
        let found = state.uploads
            .filter { $0.value.key.hasPrefix(query["prefix"] ?? "") }
            .map { (id: $0.key, upload: $0.value) }
            .sorted { mark($0.upload.key, $0.id) < mark($1.upload.key, $1.id) }
            .filter { query["key-marker"] == nil || mark($0.upload.key, $0.id) > marker }
        let page = found.prefix(Int(query["max-uploads"] ?? "") ?? 1_000)
        let body = page.map { id, upload in
            "<Upload><Key>\(upload.key)</Key><UploadId>\(id)</UploadId>"
                + "<Initiated>\(upload.begun)</Initiated></Upload>"
        }
        let next =
            page.last.map {
                "<NextKeyMarker>\($0.upload.key)</NextKeyMarker>"
                    + "<NextUploadIdMarker>\($0.id)</NextUploadIdMarker>"
            } ?? ""
        return (
            200, [:],
            "<ListMultipartUploadsResult><IsTruncated>\(page.count < found.count)</IsTruncated>"
                + "\(next)\(body.joined())</ListMultipartUploadsResult>"
        )
    }

    private static func partList(_ query: [String: String], _ state: State) -> Answer {
        guard let upload = state.uploads[query["uploadId"] ?? ""] else {
            return (404, [:], "<Error><Code>NoSuchUpload</Code></Error>")
        }
        let body = upload.parts.sorted { $0.key < $1.key }.map { number, bytes in
            "<Part><PartNumber>\(number)</PartNumber><Size>\(bytes.count)</Size>"
                + "<LastModified>\(upload.begun)</LastModified>"
                + "<ETag>\"\(tag(bytes))\"</ETag></Part>"
        }
        return (200, [:], "<ListPartsResult>\(body.joined())</ListPartsResult>")
    }

    // MARK: Values

    /// The headers that belong to an object.
    private static func own(_ headers: [String: String]) -> [String: String] {
        headers.filter { name, _ in
            name.hasPrefix("x-amz-meta-") || name.hasPrefix("content-") && name != "content-length"
                || ["cache-control", "expires", "x-amz-storage-class"].contains(name)
        }
    }

    /// What a request copies of an object; nil where it brings bytes of its own.
    private static func copied(_ headers: [String: String], _ state: State) -> [UInt8]? {
        guard let source = headers["x-amz-copy-source"],
            let object = state.objects[String(source.dropFirst("/bucket/".count))],
            let range = headers["x-amz-copy-source-range"]?.dropFirst("bytes=".count)
        else { return nil }
        let bounds = range.split(separator: "-").compactMap { Int($0) }
        return bounds.count == 2 ? Array(object.bytes[bounds[0]...bounds[1]]) : nil
    }

    private static func content(_ request: HTTPRequest) -> [UInt8] {
        switch request.body {
        case .bytes(let bytes): return Array(bytes)
        case .source(let source, let range):
            var bytes = [UInt8](repeating: 0, count: range.count)
            let read = bytes.withUnsafeMutableBytes {
                (try? source.read(into: $0, at: range.lowerBound)) ?? 0
            }
            return Array(bytes.prefix(read))
        default: return []
        }
    }

    private static func tag(_ bytes: [UInt8]) -> String {
        Hexadecimal.encode(MD5.hash(data: bytes))
    }
}

/// So many bytes of one value.
struct SameBytes: ByteSource {
    let size: UInt64
    var value: UInt8 = 7

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        let count = min(buffer.count, Int(size - min(offset, size)))
        buffer[..<count].initializeMemory(as: UInt8.self, repeating: value)
        return count
    }
}
