import Engine
import Synchronization
import Testing
import Transport

@testable import ProviderS3

/// Uploads in parts that nobody goes on with are found and aborted, and no others.
@Suite struct S3LeftUploadTests {
    /// Sends a file of three parts.
    @discardableResult
    private func write(
        _ provider: S3Provider, _ session: KeptUpload, to name: String = "a"
    ) async throws -> RemoteObject {
        try await provider.write(
            try S3Sample.key(name), from: SameBytes(size: 5 << 19), attributes: S3Sample.attributes,
            base: .absent, session: session)
    }

    /// A store at which an upload to `a` was begun whose id got lost, and what was kept of it.
    private func storeWithLostUpload() async throws -> (TinyS3, KeptUpload, id: String) {
        let (store, session) = (TinyS3(), KeptUpload())
        store.state.withLock { $0.unanswered = ["begin"] }
        let error = await #expect(throws: ProviderError.self) {
            try await write(try store.provider(), session)
        }
        #expect(error?.kind == .unreachable)
        store.state.withLock { $0.unanswered = [] }
        return (store, session, try #require(store.uploads.first))
    }

    // MARK: Begun, and never heard of

    @Test func `an upload whose start was lost is aborted before the next`()
        async throws
    {
        let (store, session, id) = try await storeWithLostUpload()
        // As a new process would, with what the database has.
        try await write(try store.provider(), KeptUpload(session.token))
        #expect(store.uploads.isEmpty)
        #expect(store.asked.contains("DELETE /a?uploadId=\(id)"))
        #expect(store.state.withLock { $0.objects["a"]?.bytes.count } == 5 << 19)
    }

    @Test func `an upload whose start was lost is aborted when it is abandoned`()
        async throws
    {
        let (store, session, _) = try await storeWithLostUpload()
        let token = try #require(session.token)
        try await store.provider().abandon(token, of: try S3Sample.key("a"))
        #expect(store.uploads.isEmpty)
        // Once more, for nothing.
        try await store.provider().abandon(token, of: try S3Sample.key("a"))
    }

    @Test(arguments: [
        ("a", "2020-09-13T12:26:41.000Z", 1, "with a part"),
        ("a", "2020-09-13T12:26:41.000Z", 0, "another, so that nobody knows which"),
        ("ab", "2020-09-13T12:26:41.000Z", 0, "to another key"),
        ("a", "2020-09-13T12:25:00.000Z", 0, "begun before"),
        ("a", "2020-09-13T12:43:00.000Z", 0, "begun long after"),
        ("a", "", 0, "of which the store does not tell when it was begun"),
    ])
    func `another client's upload stays`(
        key: String, begun: String, parts: Int, what: String
    ) async throws {
        let (store, session, id) = try await storeWithLostUpload()
        store.state.withLock { state in
            var theirs = TinyS3.Upload(key: key, headers: [:], begun: begun)
            if parts > 0 { theirs.parts = [1: [1]] }
            state.uploads["theirs"] = theirs
            // With a part, it stays also where it is the only one.
            if parts > 0 { state.uploads[id] = nil }
        }
        try await write(try store.provider(), session)
        #expect(store.uploads.contains("theirs"), "\(what)")
        #expect(session.token == nil)
    }

    @Test func `an upload that existed before is not ours`() async throws {
        let (store, session) = (TinyS3(), KeptUpload())
        store.state.withLock { state in
            state.uploads["their/s =1"] = TinyS3.Upload(key: "a", headers: [:])
            // It never got there.
            state.requestsLeft = 2
        }
        await #expect(throws: ProviderError.self) { try await write(store.provider(), session) }
        #expect(store.uploads == ["their/s =1"])
        #expect(session.token != nil)
        store.state.withLock { $0.requestsLeft = .max }
        try await write(store.provider(), session)
        #expect(store.uploads == ["their/s =1"])
    }

    @Test func `an upload that another client has aborted starts over`() async throws {
        let session = KeptUpload()
        let isFirst = Mutex(true)
        let store = TinyS3 { operation, state in
            guard operation == "part", isFirst.withLock({ $0 }) else { return }
            isFirst.withLock { $0 = false }
            state.uploads = [:]
        }
        let error = await #expect(throws: ProviderError.self) {
            try await write(store.provider(), session)
        }
        #expect(error?.isPassing == true)
        #expect(session.token == nil)
        try await write(store.provider(), session)
        #expect(store.state.withLock { $0.objects["a"]?.bytes.count } == 5 << 19)
    }

    /// Method: the store knows nothing of the upload for one request.
    @Test func `an upload that is denied once continues`() async throws {
        let session = KeptUpload()
        let hidden = Mutex<[String: TinyS3.Upload]?>(nil)
        let count = Mutex(0)
        let store = TinyS3 { operation, state in
            guard operation == "part" else { return }
            switch count.withLock({
                $0 += 1; return $0
            }) {
            case 1: hidden.withLock { $0 = state.uploads }; state.uploads = [:]
            case 2: state.uploads = hidden.withLock { $0 } ?? [:]
            default: break
            }
        }
        let error = await #expect(throws: ProviderError.self) {
            try await write(store.provider(), session)
        }
        #expect(error?.isPassing == true)
        #expect(session.token != nil)
        try await write(store.provider(), session)
        #expect(store.state.withLock { $0.objects["a"]?.bytes.count } == 5 << 19)
        #expect(store.uploads == [])
        #expect(store.asked.filter { $0 == "POST /a?uploads=" }.count == 1, "it was begun once")
    }

    @Test func `uploads succeed at a store that does not permit listing them`() async throws {
        let (store, session, id) = try await storeWithLostUpload()
        store.state.withLock { $0.deniesUploads = true }
        try await write(store.provider(), session)
        #expect(store.uploads == [id])
        #expect(store.state.withLock { $0.objects["a"] } != nil)
    }

    @Test func `the token of an upload round-trips`() throws {
        for others in [[], ["x"], ["a b", "=+/.%", "-_~"]] {
            let intent = S3UploadIntent(since: 1_600_000_000, others: others)
            #expect(S3UploadIntent(intent.token) == intent)
            #expect(S3UploadToken(intent.token) == nil)
        }
        let begun = S3UploadToken(upload: "begin 5", partBytes: 8, metadata: "m")
        #expect(S3UploadIntent(begun.token) == nil)
        #expect(S3UploadToken(begun.token) == begun)
    }

    // MARK: Copies

    /// A store on which a copy of three parts to `b` was cut short by a crash: requests after the
    /// second part come to nothing, nor does the abort.
    private func storeWithLeftCopy() async throws -> (TinyS3, id: String) {
        let store = TinyS3 { operation, state in
            if operation == "part", state.uploads.values.contains(where: { $0.parts.count == 2 }) {
                state.requestsLeft = 0
            }
        }
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: [UInt8](repeating: 7, count: 4 << 20))
        }
        let provider = try store.provider(copyBytesMax: 1 << 20)
        await #expect(throws: ProviderError.self) {
            try await provider.move(
                try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        }
        store.state.withLock { $0.requestsLeft = .max }
        return (store, try #require(store.uploads.first))
    }

    @Test func `a copy that a crash has interrupted is aborted an hour later`() async throws {
        let (store, id) = try await storeWithLeftCopy()
        store.state.withLock { state in
            for (name, sizes) in [("odd", [1 << 20, 1 << 20]), ("empty", []), ("small", [5])] {
                state.uploads[name] = TinyS3.Upload(key: "c", headers: [:])
                for (index, size) in sizes.enumerated() {
                    state.uploads[name]?.parts[index + 1] = [UInt8](repeating: 1, count: size)
                }
            }
        }
        let provider = try store.provider()
        await provider.leftUploads.abortLeftCopies()
        #expect(store.uploads == [id, "odd", "empty", "small"])
        store.state.withLock { $0.now = "Sun, 13 Sep 2020 13:26:41 GMT" }
        await provider.leftUploads.abortLeftCopies()
        #expect(store.uploads == ["odd", "empty", "small"])
    }

    @Test func `a copy that a crash has interrupted is found behind thousands of other uploads`()
        async throws
    {
        let (store, id) = try await storeWithLeftCopy()
        store.state.withLock { state in
            state.now = "Sun, 13 Sep 2020 13:26:41 GMT"
            for number in 0..<2_500 {
                state.uploads["theirs-\(number)"] = TinyS3.Upload(key: "a", headers: [:])
            }
        }
        await (try store.provider()).leftUploads.abortLeftCopies()
        #expect(!store.uploads.contains(id))
        #expect(store.uploads.count == 2_500)
    }

    /// A store takes long for each.
    @Test func `few parts of a copy are requested at a time`() async throws {
        let store = TinyS3()
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: [UInt8](repeating: 7, count: 32 << 20))
        }
        let wire = CopyCounter(store: store)
        let provider = try store.provider(copyBytesMax: 1 << 20, wire: wire)
        _ = try await provider.move(
            try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        #expect((2...4).contains(wire.counts.withLock(\.most)))
    }

    @Test func `a copy that another client has aborted is made again`() async throws {
        let isFirst = Mutex(true)
        let store = TinyS3 { operation, state in
            guard operation == "part", isFirst.withLock({ $0 }) else { return }
            isFirst.withLock { $0 = false }
            state.uploads = [:]
        }
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: [UInt8](repeating: 7, count: 4 << 20))
        }
        let provider = try store.provider(copyBytesMax: 1 << 20)
        let error = await #expect(throws: ProviderError.self) {
            try await provider.move(
                try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        }
        #expect(error?.isPassing == true)
        let moved = try await provider.move(
            try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        #expect(moved.size == 4 << 20)
        #expect(store.uploads.isEmpty)
    }
}

/// Counts the copies of parts that are requested at the same time.
private final class CopyCounter: S3Wire {
    let counts = Mutex((now: 0, most: 0))
    private let store: TinyS3

    init(store: TinyS3) {
        self.store = store
    }

    func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        guard request.headers.contains(where: { $0.name == "x-amz-copy-source-range" }) else {
            return try await store.send(request, into: sink)
        }
        counts.withLock { counts in
            counts.now += 1
            counts.most = max(counts.most, counts.now)
        }
        defer { counts.withLock { $0.now -= 1 } }
        // All others that may be requested meanwhile are.
        for _ in 0..<1_000 { await Task.yield() }
        return try await store.send(request, into: sink)
    }
}

extension TinyS3 {
    /// The uploads that were begun and not ended.
    fileprivate var uploads: Set<String> { state.withLock { Set($0.uploads.keys) } }
}
