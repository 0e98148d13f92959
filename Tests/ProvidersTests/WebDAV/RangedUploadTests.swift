import Engine
import Host
import Logging
import TestServer
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV

/// Goal: an interrupted upload in ranges continues with the bytes that the server does not have for sure.
struct RangedUploadTests {
    // MARK: Reading back

    private static let sent = WebDAVBytes(bytes: (0..<100).map { UInt8($0) })
    private static let range: Range<UInt64> = 20..<60

    private static func answer(_ status: Int, _ contentRange: String? = nil) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: HTTPHeaders(contentRange.map { [("Content-Range", $0)] } ?? []))
    }

    /// The number of bytes that are taken for the same, and whether the transfer was ended.
    private static func compare(
        _ pieces: [[UInt8]], _ response: HTTPResponse = answer(206, "bytes 20-59/100")
    ) -> (count: UInt64, isEnded: Bool) {
        let comparison = RangeComparison(range, of: sent)
        for piece in pieces {
            do {
                try piece.withUnsafeBytes { try comparison.receive($0, of: response) }
            } catch {
                return (comparison.count, true)
            }
        }
        return (comparison.count, false)
    }

    @Test func `bytes count up to the first difference`() {
        let same = Array(Self.sent.bytes[20..<60])
        #expect(Self.compare([same]) == (40, false))
        #expect(Self.compare([Array(same[..<7]), Array(same[7...])]) == (40, false))
        var other = same
        other[30] = 0
        #expect(Self.compare([other]) == (30, true))
        #expect(Self.compare([Array(other[..<30]), Array(other[30...])]) == (30, true))
        #expect(Self.compare([Array(same[..<13])]) == (13, false))
    }

    @Test func `other answers count for nothing`() {
        let same = Array(Self.sent.bytes[20..<60])
        #expect(Self.compare([same], Self.answer(200)) == (0, true))
        #expect(Self.compare([same], Self.answer(206)) == (0, true))
        #expect(Self.compare([same], Self.answer(206, "bytes 0-39/100")) == (0, true))
        #expect(Self.compare([same], Self.answer(206, "bytes 20-58/100")) == (0, true))
        #expect(Self.compare([same], Self.answer(503)) == (0, false))
        #expect(Self.compare([same, [60]]) == (40, true))
    }

    @Test func `a source that cannot be read is no difference`() throws {
        struct Unreadable: ByteSource, Error {
            let size: UInt64 = 100
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
                throw self
            }
        }
        let comparison = RangeComparison(Self.range, of: Unreadable())
        #expect(throws: Unreadable.self) {
            try [UInt8](repeating: 1, count: 40).withUnsafeBytes {
                try comparison.receive($0, of: Self.answer(206, "bytes 20-59/100"))
            }
        }
        #expect(comparison.failure is Unreadable)
        #expect(comparison.count == 0)
    }

    // MARK: Side by side

    /// Method: a server that says it is Apache's, takes ranges, and refuses what follows.
    @Test func `eight ranges of a file are sent at a time`() async throws {
        let crowd = Crowd(expected: 8)
        var options = TransportOptions()
        options.requestsPerHost = HostLimit.Bounds(start: 64, max: 64)
        let transport = HTTPTransport(options)
        try await ScriptedServer.run { request, connection in
            if request["Expect"] != nil { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            _ = try connection.read(request.bodyBytes)
            switch request.method {
            case "OPTIONS":
                try connection.answer(
                    "200 OK", ["DAV: 1,2", "DAV: <http://apache.org/dav/propset/fs/1>"])
            case "PROPFIND" where request.target == "/":
                let text = """
                    <D:multistatus xmlns:D="DAV:"><D:response><D:href>/</D:href><D:propstat><D:prop>\
                    <D:resourcetype><D:collection/></D:resourcetype></D:prop>\
                    <D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>
                    """
                try connection.answer("207 Multi-Status", [], Array(text.utf8))
            case "PUT":
                if request["Content-Range"] != nil { crowd.pass() }
                try connection.answer("204 No Content")
            default: try connection.answer("404 Not Found")
            }
        } _: { server in
            let provider = try await WebDAVProvider.connect(
                to: "webdav+http://127.0.0.1:\(server.port)/",
                world: ProviderEnvironment(
                    clock: SystemClock(), transport: transport, logger: Logger(label: "test")),
                chunkBytes: 128 << 10)
            await #expect(throws: ProviderError.self) {
                try await provider.write(
                    ObjectKey([try #require(FileName("film"))]),
                    from: WebDAVBytes(bytes: [UInt8](repeating: 1, count: 20 * 128 << 10)),
                    attributes: ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o640),
                    base: .absent, session: UntrackedUpload())
            }
            #expect(server.requests.count { $0["Content-Range"] != nil } >= 20)
        }
        #expect(crowd.largest == 8)
    }

    // MARK: What need not be read back

    @Test func `a range counts as stored if the server lived long enough after it`() throws {
        let (file, other) = (
            ObjectKey([try #require(FileName("a"))]), ObjectKey([try #require(FileName("b"))])
        )
        let stored = StoredRanges()
        let time = StoredRanges.storeTime
        func seconds(_ count: Int) -> Duration { .seconds(count) }
        stored.note(0..<10, of: file, from: .zero, until: seconds(1))
        // Answered later, but perhaps not by a server that lived later.
        stored.note(10..<20, of: file, from: seconds(1), until: seconds(2) + time)
        stored.note(20..<30, of: other, from: seconds(1) + time, until: seconds(2) + time)
        #expect(stored.begin(file).stored.isEmpty)

        // An answer of an earlier try proves nothing for this one.
        stored.note(20..<30, of: file, from: seconds(3) + time, until: seconds(4) + time)
        var known = stored.begin(file)
        #expect(known.stored.isEmpty)
        #expect(known.answered == [20..<30])

        stored.note(0..<10, of: file, from: .zero, until: seconds(10))
        stored.note(10..<20, of: file, from: .zero, until: seconds(11))
        stored.note(20..<30, of: file, from: seconds(10) + time, until: seconds(11) + time)
        known = stored.begin(file)
        #expect(known.stored == [0..<10])
        #expect(known.answered == [10..<20, 20..<30])
        #expect(stored.begin(file).stored == [0..<10])
        stored.forget(file)
        #expect(stored.begin(file).stored.isEmpty)
    }
}
