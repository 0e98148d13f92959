import Engine
import Foundation
import Host
import Logging
import ProviderConformance
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

/// Nextcloud and ownCloud, played by ``NextcloudServer``.
@Suite struct NextcloudTests {
    private static let chunk = 5 << 20

    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    private func provider(
        _ server: ScriptedServer, chunkBytes: Int = Self.chunk,
        checkInterval: Duration = .seconds(30)
    ) async throws -> WebDAVProvider {
        var world = Self.world
        world.checkInterval = checkInterval
        return try await WebDAVProvider.connect(
            to: "webdav+http://127.0.0.1:\(server.port)/remote.php/dav/files/me", world: world,
            pageEntries: 10, chunkBytes: UInt64(chunkBytes))
    }

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    /// Compared here, as a failed expectation would print megabytes.
    private func holds(_ cloud: NextcloudServer, _ bytes: [UInt8]?, at path: String) -> Bool {
        cloud.bytes(path) == bytes
    }

    private let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000, nanoseconds: 5), mode: 0o640)

    private func write(
        _ provider: WebDAVProvider, _ path: String, _ bytes: [UInt8], base: BaseVersion = .absent,
        _ session: any UploadSession = UntrackedUpload()
    ) async throws -> RemoteObject {
        try await provider.write(
            key(path), from: MemorySource(bytes: bytes), attributes: attributes, base: base,
            session: session)
    }

    // MARK: The contract

    @Test(arguments: ProviderConformance.cases)
    func `it keeps the contract, with all but the smallest files in chunks`(
        testCase: ProviderConformance.Case
    ) async throws {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        options.bytesOfSeveralPieces = 300 << 10
        options.keepsAnyBytesInNames = false
        options.tellsNormalFormsApart = false
        options.reportsAttributes = false
        let cloud = NextcloudServer(chunkBytesMin: 4)
        let fixed = options
        try await cloud.serve { server in
            let provider = try await provider(
                server, chunkBytes: 4, checkInterval: .milliseconds(5))
            try await ProviderConformance(options: fixed) { provider }.run(testCase)
        }
        #expect(cloud.uploadNames == [])
    }

    // MARK: Chunks

    @Test func `a large file goes in chunks, with its time, and leaves nothing behind`()
        async throws
    {
        let cloud = NextcloudServer()
        try await cloud.serve { server in
            let provider = try await provider(server)
            let content = TestBytes.random(2 * Self.chunk + 1)
            let session = RecordedUpload()
            let object = try await write(provider, "großer film.mov", content, session)
            #expect(holds(cloud, content, at: "großer film.mov"))
            #expect(cloud.modified("großer film.mov") == 1_600_000_000)
            #expect(object.modified == attributes.modified)
            #expect(object.mode == 0o640)
            #expect(session.token == nil)
            #expect(session.sent == UInt64(content.count))
            let puts = server.requests.filter { $0.method == "PUT" }
            #expect(puts.map(\.bodyBytes).sorted() == [1, Self.chunk, Self.chunk])
        }
        #expect(cloud.uploadNames == [])
    }

    @Test func `four chunks of a file are sent at a time`() async throws {
        let cloud = NextcloudServer(chunkBytesMin: 4)
        let crowd = Crowd(expected: 4)
        try await cloud.serve { request in
            if request.method == "PUT" { crowd.pass() }
            return false
        } _: { server in
            let content = TestBytes.random(10 << 20)
            _ = try await write(provider(server, chunkBytes: 1 << 20), "film", content)
            #expect(holds(cloud, content, at: "film"))
        }
        #expect(crowd.largest == 4)
    }

    /// Goal: what has arrived is never sent again, whatever was cut short.
    ///
    /// Method: the connection breaks at the second chunk, or at the move; the next try, by a provider
    /// that knows nothing but the token, ends it.
    @Test(arguments: ["/00002", "/.file"])
    func `an upload that is cut short goes on where it stopped`(at place: String) async throws {
        let cloud = NextcloudServer()
        let breaks = Mutex(true)
        try await cloud.serve { request in
            request.target.hasSuffix(place) && breaks.withLock { $0 }
        } _: { server in
            let content = TestBytes.random(3 * Self.chunk)
            let session = RecordedUpload()
            let error = await #expect(throws: ProviderError.self) {
                _ = try await write(provider(server), "film", content, session)
            }
            #expect(error?.kind == .unreachable)
            #expect(session.token != nil)
            #expect(cloud.uploadNames.count == 1)
            #expect(holds(cloud, nil, at: "film"))

            breaks.withLock { $0 = false }
            _ = try await write(provider(server), "film", content, session)
            #expect(holds(cloud, content, at: "film"))
            // Besides, the break may have cut short the chunks that were sent beside the second.
            let names = Set(
                server.requests.filter { $0.method == "PUT" && !$0.target.hasSuffix(place) }
                    .map(\.target))
            let puts = server.requests.count { $0.method == "PUT" && !$0.target.hasSuffix(place) }
            #expect(puts <= names.count + (place == "/.file" ? 0 : 2))
            #expect(server.requests.count { $0.method == "MKCOL" } == 1)
            #expect(session.token == nil)
        }
        #expect(cloud.uploadNames == [])
    }

    @Test func `an upload that the server has forgotten begins anew`() async throws {
        let cloud = NextcloudServer()
        let breaks = Mutex(true)
        try await cloud.serve { request in
            request.target.hasSuffix("/00002") && breaks.withLock { $0 }
        } _: { server in
            let provider = try await provider(server)
            let content = TestBytes.random(2 * Self.chunk)
            let session = RecordedUpload()
            await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "film", content, session)
            }
            cloud.forgetUploads()
            breaks.withLock { $0 = false }
            _ = try await write(provider, "film", content, session)
            #expect(holds(cloud, content, at: "film"))
        }
        #expect(cloud.uploadNames == [])
    }

    @Test func `an upload that is forgotten between two chunks is told, and begins anew`()
        async throws
    {
        let cloud = NextcloudServer()
        try await cloud.serve { request in
            if request.target.hasSuffix("/00002"), cloud.bytes("marker") == nil {
                cloud.put([], at: "marker")
                cloud.forgetUploads()
            }
            return false
        } _: { server in
            let provider = try await provider(server)
            let content = TestBytes.random(2 * Self.chunk)
            let session = RecordedUpload()
            let error = await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "film", content, session)
            }
            #expect(error?.isPassing == true)
            #expect(session.token == nil)
            _ = try await write(provider, "film", content, session)
            #expect(holds(cloud, content, at: "film"))
        }
    }

    @Test func `chunks that do not make the file are sent again`() async throws {
        let cloud = NextcloudServer()
        let damages = Mutex(true)
        try await cloud.serve { request in
            let isFirst = damages.withLock { damages in
                defer { if request.target.hasSuffix("/.file") { damages = false } }
                return damages
            }
            if isFirst, request.target.hasSuffix("/.file") {
                cloud.damage(cloud.uploadNames[0], chunk: "00001")
            }
            return false
        } _: { server in
            let provider = try await provider(server)
            let content = TestBytes.random(2 * Self.chunk)
            let session = RecordedUpload()
            let error = await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "film", content, session)
            }
            #expect(error?.isPassing == true)
            #expect(cloud.uploadNames == [])
            _ = try await write(provider, "film", content, session)
            #expect(holds(cloud, content, at: "film"))
        }
    }

    @Test(arguments: [false, true])
    func `somebody else's version that came during the upload is not replaced`(
        isNew: Bool
    ) async throws {
        let cloud = NextcloudServer()
        if !isNew { cloud.put([1], at: "film") }
        try await cloud.serve { request in
            if request.target.hasSuffix("/00002") { cloud.put([7, 7], at: "film") }
            return false
        } _: { server in
            let provider = try await provider(server)
            var base = BaseVersion.absent
            if !isNew {
                base = .version(try #require(try await provider.stat(key("film")).etag))
            }
            let session = RecordedUpload()
            let error = await #expect(throws: ProviderError.self) {
                _ = try await write(
                    provider, "film", TestBytes.random(2 * Self.chunk), base: base, session)
            }
            #expect(error?.kind == (isNew ? .exists : .changed))
            #expect(holds(cloud, [7, 7], at: "film"))
            #expect(session.token == nil)
        }
        #expect(cloud.uploadNames == [])
    }

    @Test func `an upload that nobody goes on with is taken away`() async throws {
        let cloud = NextcloudServer()
        try await cloud.serve(interrupt: { $0.target.hasSuffix("/00002") }) { server in
            let provider = try await provider(server)
            let session = RecordedUpload()
            await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "film", TestBytes.random(2 * Self.chunk), session)
            }
            let token = try #require(session.token)
            try await provider.abandon(token, of: key("film"))
            #expect(cloud.uploadNames == [])
            // Once more is no failure.
            try await provider.abandon(token, of: key("film"))
        }
    }

    @Test func `a server without uploads gets files in one piece`() async throws {
        let cloud = NextcloudServer()
        try await ScriptedServer.run { request, connection in
            let body = try connection.read(request.bodyBytes)
            if request.target.hasPrefix("/remote.php/dav/uploads") {
                return try connection.answer("404 Not Found")
            }
            let answer = cloud.answer(request, body)
            try connection.answer(answer.status, answer.headers, answer.body)
        } _: { server in
            let provider = try await provider(server)
            let content = TestBytes.random(2 * Self.chunk)
            _ = try await write(provider, "film", content)
            #expect(holds(cloud, content, at: "film"))
        }
    }

    @Test(arguments: [
        ("https://h/remote.php/dav/files/me", "remote.php/dav/uploads/me"),
        ("https://h/cloud/remote.php/dav/files/m%20e/Photos/", "cloud/remote.php/dav/uploads/m e"),
        ("https://h/remote.php/webdav", nil), ("https://h/remote.php/dav/files", nil),
    ])
    func `uploads are beside the files of the same user`(url: String, uploads: String?) throws {
        let address = try WebDAVSource(
            parsing: "webdav+\(url)"
        ).address
        let found = address.uploads?.map { String(decoding: $0, as: UTF8.self) }
        #expect(found?.joined(separator: "/") == uploads)
    }

    // MARK: Names

    /// Goal: a name that the server would give back as another one is refused, and nothing is taken
    /// for it: neither a duplicate nor a loop comes of it.
    @Test func `names that the server would compose are refused`() async throws {
        let cloud = NextcloudServer()
        try await cloud.serve { server in
            let provider = try await provider(server)
            let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
            func expectRefusal(_ call: () async throws -> Void) async {
                let error = await #expect(throws: ProviderError.self) { try await call() }
                #expect(error?.kind == .unsupported)
                #expect(error?.reason.contains("NFC") == true)
            }
            await expectRefusal { _ = try await write(provider, decomposed, [1]) }
            await expectRefusal {
                _ = try await provider.createDirectory(key(decomposed), attributes: attributes)
            }
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
            let object = try await write(provider, composed, [1, 2])
            await expectRefusal {
                _ = try await provider.move(
                    key(composed), etag: object.etag, to: key(decomposed), base: .absent,
                    continues: false)
            }
            let error = await #expect(throws: ProviderError.self) {
                _ = try await provider.stat(key(decomposed))
            }
            #expect(error?.kind == .missing)
            let listed = try await provider.entries(of: .root).next().objects
            #expect(listed.map(\.name.bytes) == [Array(composed.utf8)])
        }
    }

    // MARK: Permissions and space

    @Test func `what may not be written is shown so, and refused`() async throws {
        let cloud = NextcloudServer()
        cloud.put([1, 2], at: "shared", permissions: "SRGDNV")
        cloud.put([1, 2], at: "mine")
        cloud.makeDirectory("in", permissions: "SRGDNV")
        cloud.makeDirectory("out")
        try await cloud.serve { server in
            let provider = try await provider(server)
            let modes = try await provider.entries(of: .root).next().objects.map {
                ($0.name.description, $0.mode)
            }
            #expect(
                Dictionary(uniqueKeysWithValues: modes)
                    == ["shared": 0o444, "mine": 0o644, "in": 0o555, "out": 0o755])
            cloud.put([1, 2], at: "lent", permissions: "SRGDNV")
            #expect(try await provider.stat(key("lent")).mode == 0o444)
            cloud.put([1, 2], at: "lent", permissions: "SRGDNVW")
            #expect(try await provider.stat(key("lent")).mode == 0o644)
            let shared = try await provider.stat(key("shared"))
            let etag = try #require(shared.etag)
            let error = await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "shared", [3], base: .version(etag))
            }
            #expect(error?.kind == .denied)
            let other = await #expect(throws: ProviderError.self) {
                _ = try await write(provider, "in/new", [3])
            }
            #expect(other?.kind == .denied)
        }
    }

    @Test func `the quota is told`() async throws {
        try await NextcloudServer().serve { server in
            let space = try await provider(server).space()
            #expect(space == StorageSpace(totalBytes: 1024, availableBytes: 1000))
        }
    }
}

/// Keeps a token as the engine does.
private final class RecordedUpload: UploadSession {
    private let state = Mutex((token: UploadToken?.none, sent: UInt64(0)))

    var token: UploadToken? { state.withLock { $0.token } }
    var sent: UInt64 { state.withLock { $0.sent } }
    var nonce: WriteNonce? { nil }

    func expect(_ etag: ETag) {}

    func keep(_ token: UploadToken?) {
        state.withLock { $0.token = token }
    }

    func noteSent(_ bytes: UInt64) {
        state.withLock { $0.sent = bytes }
    }
}

private struct MemorySource: ByteSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        let rest = bytes[Int(min(offset, size))...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}
