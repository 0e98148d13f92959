import Engine
import Logging
import Synchronization
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// A server of one's own making: answers in their order, and what was asked.
private final class ScriptedWire: S3Wire {
    struct Answer: Sendable {
        var status = 200
        var headers: [(name: String, value: String)] = []
        var body = ""
    }

    private let answers: Mutex<[Answer]>
    private let asked = Mutex<[HTTPRequest]>([])

    init(_ answers: [Answer]) {
        self.answers = Mutex(answers)
    }

    var requests: [HTTPRequest] { asked.withLock { $0 } }

    func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        asked.withLock { $0.append(request) }
        let answer = answers.withLock { $0.isEmpty ? Answer(status: 500) : $0.removeFirst() }
        let response = HTTPResponse(
            status: answer.status, headers: HTTPHeaders(answer.headers))
        do {
            try Array(answer.body.utf8).withUnsafeBytes { try sink.receive($0, of: response) }
        } catch {
            throw TransportError(.sink, attempt: "", reason: "\(error)", cause: error)
        }
        return response
    }
}

private final class FixedClock: Clock {
    let wallTime = Timestamp(seconds: 1_600_000_000)
    let uptime = Duration.zero

    func sleep(until instant: Duration) async throws {}
}

private final class Collector: ByteSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        self.bytes.withLock { $0 += Array(bytes) }
    }
}

@Suite struct S3ClientTests {
    private func client(
        _ wire: ScriptedWire, _ settings: S3Settings? = nil, load: S3CredentialCache? = nil
    ) throws -> S3Client {
        let settings = settings ?? S3Settings(bucket: "bucket", prefix: S3Key(""))
        let endpoint = try #require(
            S3Endpoint.aws(region: "us-east-1", bucket: "bucket", isPathStyle: nil))
        return S3Client(
            settings: settings, endpoint: endpoint, region: "us-east-1", wire: wire,
            clock: FixedClock(),
            credentials: load
                ?? S3CredentialCache { _ in
                    S3Credentials(accessKey: "id", secretKey: "hush", origin: .environment)
                },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func error(_ code: String, _ more: String = "") -> String {
        "<Error><Code>\(code)</Code><Message>words</Message>\(more)</Error>"
    }

    private func header(_ name: String, of request: HTTPRequest?) -> String? {
        request?.headers.first { $0.name.lowercased() == name }?.value
    }

    @Test func `a key of any bytes is listed and requested unchanged`() async throws {
        let object = "<Size>3</Size><ETag>1</ETag></Contents>"
        let listing =
            "<ListBucketResult><EncodingType>url</EncodingType>"
            + "<Contents><Key>a%FF%01%0A%E2%90%9B</Key>\(object)<Contents><Key>b%00+%2B</Key>\(object)"
            + "</ListBucketResult>"
        let range = [
            (name: "Content-Range", value: "bytes 0-2/3"), (name: "ETag", value: "\"1\""),
            (name: "Content-Length", value: "3"),
        ]
        let wire = ScriptedWire([
            .init(body: listing), .init(status: 206, headers: range, body: "abc"),
            .init(status: 206, headers: range, body: "abc"),
        ])
        let provider = try S3Provider(try client(wire))
        let names = try await provider.entries(of: .root).next().objects.map(\.name)
        let escape: [UInt8] = [0xE2, 0x90, 0x9B]
        #expect(
            names.map(\.bytes) == [
                [0x61, 0xFF, 0x01, 0x0A] + escape, [0x62] + escape + Array("00 +".utf8),
            ])
        for name in names {
            try await provider.read(
                ObjectKey([name]), range: 0..<3, etag: ETag("1"), into: Collector())
        }
        let paths = wire.requests.dropFirst().map { $0.url.split(separator: "/").last }
        #expect(paths == ["a%FF%01%0A%E2%90%9B", "b%00%20%2B"])
    }

    private func page(_ key: String, next: String) -> ScriptedWire.Answer {
        ScriptedWire.Answer(
            body: "<ListBucketResult><Contents><Key>\(key)</Key><Size>1</Size><ETag>1</ETag>"
                + "</Contents><IsTruncated>true</IsTruncated>"
                + "<NextContinuationToken>\(next)</NextContinuationToken></ListBucketResult>")
    }

    @Test func `a page that continues at its own start is refused`() async throws {
        let provider = try S3Provider(
            client(ScriptedWire([page("a", next: "T"), page("a", next: "T")])))
        let cursor = provider.entries(of: .root)
        #expect(try await !cursor.next().isLast)
        let error = await #expect(throws: ProviderError.self) { try await cursor.next() }
        #expect(error?.kind == .corrupt)
    }

    @Test(arguments: [
        ("a/.", "InvalidRequest", "\".\""), ("../a", "InvalidArgument", "\"..\""),
        ("a\0", "InvalidRequest", "NUL"), ("a", "KeyTooLongError", "words"),
    ])
    func `the error names the part of a key that the store refuses`(
        key: String, code: String, named: String
    ) async throws {
        let wire = ScriptedWire([.init(status: 400, body: error(code))])
        let client = try client(wire)
        let error = await #expect(throws: ProviderError.self) {
            try await client.ask(.init(method: .put, key: S3Key(key)))
        }
        #expect(error?.kind == .unsupported && error?.remedy != nil)
        #expect(error?.reason.contains(named) == true)
        #expect(error?.reason.contains("words") == true)
    }

    @Test(arguments: [nil, "-5", "9223372036854775808"])
    func `an object of unknown size does not count as empty`(size: String?) async throws {
        let headers =
            [(name: "ETag", value: "\"1\"")] + (size.map { [("Content-Length", $0)] } ?? [])
        let provider = try S3Provider(client(ScriptedWire([.init(headers: headers)])))
        let key = ObjectKey([try #require(FileName("x"))])
        let error = await #expect(throws: ProviderError.self) { try await provider.stat(key) }
        #expect(error?.kind == .unsupported && error?.remedy != nil)
        #expect(error?.reason.contains("the size of \"x\"") == true)
    }

    @Test func `a wrong clock is corrected once by the store's clock`() async throws {
        let date = (name: "Date", value: "Sun, 13 Sep 2020 13:26:40 GMT")
        let skewed = ScriptedWire.Answer(
            status: 403, headers: [date], body: error("RequestTimeTooSkewed"))
        let wire = ScriptedWire([
            skewed, ScriptedWire.Answer(), ScriptedWire.Answer(), skewed, skewed,
        ])
        let client = try client(wire)
        _ = try await client.ask(.init(method: .get, key: S3Key("a")))
        #expect(header("x-amz-date", of: wire.requests[0]) == "20200913T122640Z")
        #expect(header("x-amz-date", of: wire.requests[1]) == "20200913T132640Z")
        _ = try await client.ask(.init(method: .get, key: S3Key("a")))
        #expect(header("x-amz-date", of: wire.requests[2]) == "20200913T132640Z")
        let error = await #expect(throws: ProviderError.self) {
            try await client.ask(.init(method: .get, key: S3Key("a")))
        }
        #expect(error?.kind == .unauthorized)
        #expect(wire.requests.count == 5)
    }

    @Test(arguments: ["ExpiredToken", "InvalidAccessKeyId", "SignatureDoesNotMatch"])
    func `refused credentials are loaded again, once`(code: String) async throws {
        let refused = ScriptedWire.Answer(status: 403, body: error(code))
        let wire = ScriptedWire([refused, ScriptedWire.Answer(), refused, refused])
        let count = Mutex(0)
        let cache = S3CredentialCache { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return S3Credentials(
                accessKey: "id\(number)", secretKey: "hush", sessionToken: "t",
                origin: .environment)
        }
        let client = try client(wire, load: cache)
        _ = try await client.ask(.init(method: .get, key: S3Key("a")))
        #expect(count.withLock { $0 } == 2)
        #expect(header("authorization", of: wire.requests[1])?.contains("Credential=id2/") == true)
        #expect(header("x-amz-security-token", of: wire.requests[1]) == "t")
        let error = await #expect(throws: ProviderError.self) {
            try await client.ask(.init(method: .get, key: S3Key("a")))
        }
        #expect(error?.kind == .unauthorized)
        #expect("\(String(describing: error))".contains("hush") == false)
    }

    @Test func `credentials that are unavailable for now are a passing error`() async throws {
        let failures: [(S3CredentialError, ProviderError.Kind)] = [
            (S3CredentialError("status 500", remedy: "wait", kind: .passing), .unreachable),
            (S3CredentialError("no role", remedy: "get one"), .unauthorized),
            (.cancelled, .cancelled),
        ]
        for (failure, kind) in failures {
            let cache = S3CredentialCache { _ throws(S3CredentialError) in throw failure }
            let client = try client(ScriptedWire([]), load: cache)
            let error = await #expect(throws: ProviderError.self) {
                try await client.ask(.init(method: .get, key: S3Key("a")))
            }
            #expect(error?.kind == kind && error?.reason == failure.reason)
        }
    }

    @Test func `keys that are replaced in the shared credentials file are used`() async throws {
        func keys(_ id: String) -> String {
            "[default]\naws_access_key_id = \(id)\naws_secret_access_key = hush\n"
        }
        let file = Mutex(keys("old"))
        let environment = S3Environment(values: ["HOME": "/home/me"]) { path in
            path == "/home/me/.aws/credentials" ? file.withLock { Array($0.utf8) } : nil
        }
        let chain = S3CredentialChain(
            environment: environment, profile: nil, region: "us-east-1",
            commands: SecretCommands(logger: Logger(label: "test"))
        ) { _ throws(TransportError) in
            throw TransportError(.unreachable, attempt: "", reason: "nobody is asked")
        }
        let refused = ScriptedWire.Answer(status: 403, body: error("InvalidAccessKeyId"))
        let wire = ScriptedWire([refused, refused, ScriptedWire.Answer()])
        let client = try client(
            wire,
            load: S3CredentialCache { _ throws(S3CredentialError) in try await chain.load() })
        let error = await #expect(throws: ProviderError.self) {
            try await client.ask(.init(method: .get, key: S3Key("a")))
        }
        #expect(error?.kind == .unauthorized)
        // As long as it is the same it is not tried twice.
        #expect(wire.requests.count == 1)
        file.withLock { $0 = keys("new") }
        _ = try await client.ask(.init(method: .get, key: S3Key("a")))
        let signed = wire.requests.map { header("authorization", of: $0) ?? "" }
        #expect(signed.map { $0.contains("Credential=new/") } == [false, false, true])
    }

    @Test func `a bucket in another region is found`() async throws {
        let wire = ScriptedWire([
            .init(status: 301, headers: [("x-amz-bucket-region", "eu-west-1")]), .init(),
        ])
        _ = try await client(wire).ask(.init(method: .get, key: S3Key("a b")))
        #expect(wire.requests[0].url == "https://bucket.s3.us-east-1.amazonaws.com/a%20b")
        #expect(wire.requests[1].url == "https://bucket.s3.eu-west-1.amazonaws.com/a%20b")
        #expect(
            header("authorization", of: wire.requests[1])?.contains("/eu-west-1/s3/") == true)
    }

    @Test func `an error in the body of a success is an error`() async throws {
        let wire = ScriptedWire([.init(body: error("InternalError"))])
        let client = try client(wire)
        let error = await #expect(throws: ProviderError.self) {
            try await client.copy(
                S3Key("a"), etag: ETag("e"), to: S3Key("b"), headers: nil, storageClass: nil, nil)
        }
        #expect(error?.kind == .unreachable)
    }

    @Test func `a GET finds the reason that HEAD does not tell`() async throws {
        let wire = ScriptedWire([
            .init(status: 403), .init(status: 403, body: error("InvalidAccessKeyId")),
        ])
        let client = try client(wire)
        let error = await #expect(throws: ProviderError.self) {
            try await client.head(S3Key("a"))
        }
        #expect(error?.kind == .unauthorized)
        #expect(error?.reason.contains("words") == true)
    }

    @Test func `anonymous requests are not signed`() async throws {
        let wire = ScriptedWire([.init()])
        let settings = S3Settings(bucket: "bucket", prefix: S3Key(""))
        let endpoint = try #require(
            S3Endpoint(url: "http://host:9000", bucket: "bucket", isPathStyle: nil))
        let client = S3Client(
            settings: settings, endpoint: endpoint, region: "r", wire: wire, clock: FixedClock(),
            credentials: nil, logger: Logger(label: "test"))
        _ = try await client.ask(.init(method: .get, key: S3Key("../a//b")))
        #expect(wire.requests[0].url == "http://host:9000/bucket/../a//b")
        #expect(header("authorization", of: wire.requests[0]) == nil)
    }

    @Test(
        arguments: [
            (206, "bytes 2-4/9", "\"e\"", "abc", nil),
            (206, "bytes 2-4/9", "\"e\"", "abcd", .corrupt),
            (206, "bytes 2-4/9", "\"e\"", "ab", .corrupt),
            (206, "bytes 0-2/9", "\"e\"", "abc", .corrupt),
            (206, "nonsense", "\"e\"", "abc", .corrupt),
            (200, "", "\"e\"", "abcdefghi", .corrupt),
            (206, "bytes 2-4/9", "\"other\"", "abc", .changed),
            (412, "", "", "", .changed),
            (416, "", "", "", .changed),
        ] as [(Int, String, String, String, ProviderError.Kind?)])
    func `a read returns the requested range of the requested version, or fails`(
        status: Int, range: String, etag: String, body: String, kind: ProviderError.Kind?
    ) async throws {
        let wire = ScriptedWire([
            .init(
                status: status, headers: [("Content-Range", range), ("ETag", etag)], body: body)
        ])
        let provider = try S3Provider(client(wire))
        let sink = Collector()
        let key = ObjectKey([try #require(FileName("f"))])
        do {
            try await provider.read(key, range: 2..<5, etag: ETag("e"), into: sink)
            #expect(kind == nil)
            #expect(sink.bytes.withLock { $0 } == Array("abc".utf8))
        } catch {
            #expect(error.kind == kind)
        }
        #expect(header("if-match", of: wire.requests.first) == "\"e\"")
    }

    /// Of "123456789", as the catalogue of CRCs has them (SHA-256: FIPS 180-4).
    private static let sums = [
        ("sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
        ("crc64nvme", "rosUhgp5mIg="), ("crc32c", "4waSgw=="), ("crc32", "y/Q5Jg=="),
    ]

    private func readDigits(
        _ body: String, etag: String = "e", _ headers: [(name: String, value: String)]
    ) async throws -> ProviderError.Kind? {
        let own = [(name: "ETag", value: "\"\(etag)\""), ("Content-Length", "9")]
        let provider = try S3Provider(
            client(ScriptedWire([.init(headers: own + headers, body: body)])))
        let key = ObjectKey([try #require(FileName("f"))])
        do throws(ProviderError) {
            try await provider.read(key, range: 0..<9, etag: ETag(etag), into: Collector())
            return nil
        } catch {
            return error.kind
        }
    }

    @Test(arguments: sums)
    func `a whole object without its checksum is not served`(
        name: String, sum: String
    ) async throws {
        let header = (name: "x-amz-checksum-\(name)", value: sum)
        let whole = (name: "x-amz-checksum-type", value: "FULL_OBJECT")
        #expect(try await readDigits("123456789", [header]) == nil)
        #expect(try await readDigits("123456788", [header]) == .corrupt)
        #expect(try await readDigits("123456789", etag: "e-2", [header, whole]) == nil)
        #expect(try await readDigits("123456788", etag: "e-2", [header, whole]) == .corrupt)
    }

    @Test(arguments: sums)
    func `a checksum of parts is not used for the whole object`(name: String, sum: String)
        async throws
    {
        let header = (name: "x-amz-checksum-\(name)", value: sum)
        let composite = (name: "x-amz-checksum-type", value: "COMPOSITE")
        #expect(try await readDigits("123456788", etag: "e-2", [header]) == nil)
        #expect(try await readDigits("123456788", [header, composite]) == nil)
        #expect(try await readDigits("123456788", [(header.name, sum + "-2")]) == nil)
    }

    @Test func `a checksum does not depend on how the bytes are split`() {
        let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for whole in [S3CRC.crc32, .crc32C, .crc64NVME] {
            var (expected, found) = (whole, whole)
            bytes.withUnsafeBytes { expected.update($0) }
            bytes.withUnsafeBytes { bytes in
                for start in stride(from: 0, to: 1_000, by: 13) {
                    let piece = bytes[start..<min(start + 13, 1_000)]
                    found.update(UnsafeRawBufferPointer(rebasing: piece))
                }
            }
            #expect(found.bytes == expected.bytes)
        }
    }
}
