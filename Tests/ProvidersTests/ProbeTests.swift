import Engine
import Foundation
import Host
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderFolder
@testable import ProviderRclone
@testable import ProviderS3
@testable import ProviderSupport
@testable import ProviderWebDAV

/// Goal: a probe is answered by any store that is alive, however busy it and its provider are.
@Suite("A probe", .timeLimit(.minutes(1))) struct ProbeTests {
    /// One request of a kind at a time to each host.
    private let transport: HTTPTransport

    init() {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 1)
        transport = HTTPTransport(options)
    }

    /// Expects a probe of `provider` to be answered during a listing that is not.
    ///
    /// - Parameter arrivals: One when the listing has arrived.
    private func expectProbe(
        of provider: any Provider, duringListing arrivals: AsyncStream<Void>
    ) async throws {
        let listing = Task { try await provider.entries(of: .root).next() }
        for await _ in arrivals { break }
        try await provider.probe()
        listing.cancel()
        _ = await listing.result
    }

    // MARK: WebDAV

    private static func multistatus(_ names: [String]) -> String {
        "<multistatus xmlns=\"DAV:\">"
            + names.map {
                "<response><href>\($0)</href><propstat><prop><resourcetype><collection/>"
                    + "</resourcetype></prop><status>HTTP/1.1 200 OK</status></propstat></response>"
            }.joined() + "</multistatus>"
    }

    private func webDAV(_ server: ScriptedServer) async throws -> WebDAVProvider {
        try await WebDAVProvider.connect(
            to: "webdav+http://127.0.0.1:\(server.port)/dav",
            world: ProviderEnvironment(
                clock: SystemClock(), transport: transport, logger: Logger(label: "test")))
    }

    /// - Parameter list: Answers a listing.
    private func withWebDAV(
        _ list: @escaping @Sendable (ServedConnection) throws -> Void,
        _ body: (WebDAVProvider) async throws -> Void
    ) async throws {
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            switch (request.method, request["Depth"]) {
            case ("OPTIONS", _): try connection.answer("200 OK", ["DAV: 1"])
            case ("PROPFIND", "1"): try list(connection)
            case ("PROPFIND", _):
                try connection.answer(
                    "207 Multi-Status", [], Array(Self.multistatus(["/dav/"]).utf8))
            default: try connection.answer("404 Not Found")
            }
        } _: { server in
            try await body(try await webDAV(server))
        }
    }

    @Test func `of WebDAV waits for no listing`() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await withWebDAV { connection in
            arrival.yield()
            connection.awaitHangUp()
            throw POSIXError(.ECONNRESET)
        } _: { provider in
            try await expectProbe(of: provider, duringListing: arrivals)
        }
    }

    /// Method: the server sends a part of its answer only once the one before was reported.
    @Test func `is not needed while an answer arrives`() async throws {
        let reported = DispatchSemaphore(value: 0)
        try await withWebDAV { connection in
            let answer = Array(Self.multistatus(["/dav/", "/dav/a/", "/dav/b/"]).utf8)
            try connection.write(
                "HTTP/1.1 207 Multi-Status\r\nContent-Length: \(answer.count)\r\n\r\n")
            for start in stride(from: 0, to: answer.count, by: 100) {
                try connection.write(Array(answer[start..<min(start + 100, answer.count)]))
                reported.wait()
            }
        } _: { provider in
            let page = try await SignOfLife.$note.withValue({ reported.signal() }) {
                try await provider.entries(of: .root).next()
            }
            #expect(page.objects.map(\.name.description) == ["a", "b"])
        }
    }

    // MARK: S3

    @Test func `of S3 waits for no listing, and asks for one key`() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { request, connection in
            guard request.target.contains("max-keys=1&") else {
                arrival.yield()
                connection.awaitHangUp()
                throw POSIXError(.ECONNRESET)
            }
            try connection.answer(
                "200 OK", [],
                Array(
                    ("<ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated>"
                        + "</ListBucketResult>").utf8))
        } _: { server in
            let endpoint = try #require(
                S3Endpoint(url: server.url(""), bucket: "bucket", isPathStyle: true))
            let provider = try S3Provider(
                S3Client(
                    settings: S3Settings(bucket: "bucket", prefix: S3Key("")), endpoint: endpoint,
                    region: "us-east-1", wire: transport, clock: ClockAtOnce(), credentials: nil,
                    logger: Logger(label: "test")))
            try await expectProbe(of: provider, duringListing: arrivals)
        }
    }

    // MARK: rclone

    /// rclone finds out whether a directory exists by listing it or its parent; a single file is
    /// asked for directly by most remotes.
    ///
    /// - Parameter isOdd: Whether this remote says in its own words that there is none.
    @Test(arguments: [false, true])
    func `of rclone asks for a single file`(isOdd: Bool) async throws {
        struct Input: Decodable {
            struct Options: Decodable { var filesOnly: Bool? }
            var remote: String
            var opt: Options
        }
        let directory = try RcloneDirectory(in: NSTemporaryDirectory())
        defer { directory.remove() }
        // The server stands in for the program, which has ended.
        let daemon = RcloneDaemon(
            RcloneProgram(path: "/bin/true", environment: []), directory: directory,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        daemon.keeper.end()
        let inputs = Mutex<[Input]>([])
        try await ScriptedServer.run(at: directory.socketPath) { request, connection in
            let body = try connection.read(request.bodyBytes)
            guard request.target == "/operations/stat" else {
                return try connection.answer("404 Not Found")
            }
            let input = try JSONDecoder().decode(Input.self, from: Data(body))
            inputs.withLock { $0.append(input) }
            if isOdd, !input.remote.isEmpty {
                let body = #"{"error":"a path like this never was"}"#
                return try connection.answer("500 Oh", [], Array(body.utf8))
            }
            try connection.answer("200 OK", [], Array(#"{"item":null}"#.utf8))
        } _: { _ in
            let features = #"{"Features":{},"Hashes":null,"Precision":1}"#
            let remote = RcloneRemote(
                client: RcloneClient(daemon: daemon, transport: transport, clock: SystemClock()),
                fileSystem: "x:",
                opened: try JSONDecoder().decode(RcloneFileSystem.self, from: Data(features.utf8)))
            try await remote.probe()
            let seen = inputs.withLock { $0 }
            #expect(seen.count == (isOdd ? 2 : 1))
            let input = try #require(seen.first)
            #expect(input.opt.filesOnly == true)
            #expect(RcloneHidden.isHidden(input.remote))
        }
    }

    // MARK: A folder

    /// Method: more uploads than there are threads for them, each waiting for its bytes.
    @Test func `of a folder waits for no upload, nor does a read`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("there", "text")
        let provider = try await FolderProvider.connect(path: Array(folder.path.utf8))
        let source = WaitingSource()
        let key = ObjectKey([try #require(FileName("there"))])
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { source.release() }
            for number in 0..<20 {
                let new = ObjectKey([try #require(FileName("\(number)"))])
                group.addTask {
                    _ = try await provider.write(
                        new, from: source,
                        attributes: ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644),
                        base: .absent, session: UntrackedUpload())
                }
            }
            await source.awaitReaders(provider.traits.transfersMax)
            try await provider.probe()
            let (object, page) = try await (
                provider.stat(key), provider.entries(of: .root).next()
            )
            #expect(object.size == 4 && page.isLast)
            source.release()
            try await group.waitForAll()
        }
    }

    /// Goal: a file system that hangs does not collect a probe every few seconds.
    @Test func `of a folder fails at once while two others are not answered`() throws {
        let pools = try FolderPools(threads: 1)
        var places = [pools.placeForProbe(), pools.placeForProbe()]
        #expect(places.allSatisfy { $0 != nil })
        #expect(pools.placeForProbe() == nil)
        places.removeLast()
        #expect(pools.placeForProbe() != nil)
    }

    /// A disk whose reads wait.
    private final class WaitingSource: ByteSource {
        private let readers = Mutex((count: 0, isReleased: false))
        private let gate = DispatchSemaphore(value: 0)
        private let (arrivals, arrival) = AsyncStream<Void>.makeStream()

        var size: UInt64 { 1 }

        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
            arrival.yield()
            let waits = readers.withLock { readers in
                readers.count += 1
                return !readers.isReleased
            }
            if waits { gate.wait() }
            buffer.initializeMemory(as: UInt8.self, repeating: 1)
            return buffer.count
        }

        func awaitReaders(_ count: Int) async {
            for await _ in arrivals.prefix(count) {}
        }

        func release() {
            let waiting = readers.withLock { readers in
                defer { readers.isReleased = true }
                return readers.isReleased ? 0 : readers.count
            }
            for _ in 0..<waiting { gate.signal() }
        }
    }
}
