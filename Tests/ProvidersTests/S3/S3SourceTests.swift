import Engine
import Host
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport
@testable import Providers

@Suite struct S3SourceTests {
    @Test(arguments: [
        ("s3://bucket", "s3://bucket"), ("S3://bucket/", "s3://bucket"),
        ("s3://bucket/a b/c/", "s3://bucket/a%20b/c"),
        (
            "s3://bucket/p?endpoint=http://127.0.0.1:9000/&region=us-east-1",
            "s3://bucket/p?endpoint=http://127.0.0.1:9000&region=us-east-1"
        ),
        ("s3://b.c/?endpoint=https://Host.example", "s3://b.c?endpoint=https://host.example"),
        (
            "s3://b?anonymous=true&path-style=false&requester-pays=true&storage-class=STANDARD_IA",
            "s3://b?storage-class=STANDARD_IA&path-style=false&requester-pays=true&anonymous=true"
        ),
        ("s3://b?profile=me", "s3://b?profile=me"),
        ("s3://b?metadata=listing", "s3://b?metadata=listing"),
        ("s3://b?metadata=objects", "s3://b"),
    ])
    func `a bucket has one description`(text: String, shown: String) throws {
        let source = try Source(parsing: text)
        #expect(source.description == shown)
        #expect(try Source(parsing: shown).description == shown)
        #expect(source.stateName.count <= 60)
    }

    @Test(arguments: [
        ("s3:bucket", "names no bucket"), ("s3://", "not a bucket name"),
        ("s3://a b/", "not a bucket name"), ("s3://b?regin=x", "did you mean \"region\"?"),
        ("s3://b?region=x&region=y", "given twice"), ("s3://b?anonymous=perhaps", "true"),
        ("s3://b?metadata=none", "metadata=listing"),
        ("s3://b?endpoint=ftp://x", "endpoint=https://HOST"),
        ("s3://b?endpoint=localhost:8333", "or endpoint=http://localhost:8333"),
        ("s3://b?endpoint=http://me:hush@x", "endpoint=https://HOST"), ("s3://b/%zz", "%25"),
    ])
    func `a misspelled bucket is corrected by the error`(text: String, part: String) {
        let error = #expect(throws: SourceError.self) { try Source(parsing: text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("hush") == false)
    }

    private static let listing = "<ListBucketResult></ListBucketResult>"

    /// Opens a bucket at a server that gives one answer to everything.
    ///
    /// - Parameter environment: nil to sign nothing.
    /// - Returns: The notes for the user, or the error.
    private func opening(
        _ place: String, _ status: String, _ body: String, _ environment: [String: String]? = nil
    ) async throws -> (notes: [String], error: SourceError?) {
        try await ScriptedServer.run({ try $1.answer(status, [], Array(body.utf8)) }) { server in
            let notes = Mutex<[String]>([])
            let error: SourceError?
            do throws(SourceError) {
                var world = ProviderEnvironment(
                    clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))
                world.note = { note in notes.withLock { $0.append(note) } }
                let url = "\(place)?endpoint=http://127.0.0.1:\(server.port)"
                _ = try await S3Provider.connect(
                    to: environment == nil ? url + "&anonymous=true" : url,
                    environment: environment ?? [:], world: world)
                error = nil
            } catch let failure {
                error = failure
                let address = "http://127.0.0.1:\(server.port)"
                let isAsked = !failure.problem.contains("there are no credentials")
                #expect(failure.problem.contains(address) == isAsked, "\(failure)")
            }
            return (notes.withLock { $0 }, error)
        }
    }

    @Test func `a prefix with nothing below it is reported`() async throws {
        let mistyped = try await opening("s3://b/fotos", "200 OK", Self.listing)
        #expect(mistyped.error == nil)
        #expect(mistyped.notes.count == 1)
        #expect(mistyped.notes.first?.contains("\"fotos/\"") == true, "\(mistyped.notes)")
        let bucket = try await opening("s3://b", "200 OK", Self.listing)
        #expect(bucket.error == nil && bucket.notes == [])
        let object =
            "<ListBucketResult><Contents><Key>fotos/a</Key><Size>1</Size><ETag>x</ETag></Contents>"
            + "</ListBucketResult>"
        let filled = try await opening("s3://b/fotos", "200 OK", object)
        #expect(filled.error == nil && filled.notes == [])
    }

    @Test(arguments: ["400 Bad Request", "404 Not Found"])
    func `a server that is not a store is reported as such`(status: String) async throws {
        let error = try await opening("s3://b", status, "<html>No</html>").error
        let said = error?.remedy ?? ""
        #expect(said.contains(status.prefix(3)) && said.contains("http:// or https://"), "\(said)")
    }

    @Test(arguments: [
        ("InvalidAccessKeyId", true, "correct AWS_ACCESS_KEY_ID"),
        ("SignatureDoesNotMatch", true, "correct AWS_ACCESS_KEY_ID"),
        ("AccessDenied", true, "s3:ListBucket"), ("AccessDenied", false, "remove anonymous=true"),
        ("RequestTimeTooSkewed", true, "clock"),
        ("AuthorizationHeaderMalformed", true, "region=NAME"),
    ])
    func `if a store refuses credentials, the remedy is about them and not about the address`(
        code: String, isSigned: Bool, part: String
    ) async throws {
        let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush"]
        let said =
            try await opening(
                "s3://b", "403 Forbidden",
                "<Error><Code>\(code)</Code><Message>Go away</Message></Error>",
                isSigned ? keys : nil
            ).error?.remedy ?? ""
        #expect(said.contains("Go away (\(code)); ") && said.contains(part), "\(said)")
        #expect(!said.contains("address") && !said.contains("hush"), "\(said)")
    }

    @Test func `a bucket is looked for at the endpoint of the services section`() async throws {
        try await ScriptedServer.run({ try $1.answer("200 OK", [], Array(Self.listing.utf8)) }) {
            server in
            let folder = try TemporaryFolder()
            try folder.write(
                "config",
                """
                [default]
                services = mine
                [services mine]
                s3 =
                  endpoint_url = http://127.0.0.1:\(server.port)
                """)
            _ = try await S3Provider.connect(
                to: "s3://b?anonymous=true",
                environment: [
                    "AWS_CONFIG_FILE": folder.path("config"),
                    "AWS_SHARED_CREDENTIALS_FILE": folder.path("none"),
                ],
                world: ProviderEnvironment(
                    clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))
            )
        }
    }

    @Test func `if there are no credentials, the remedy is not about the address`() async throws {
        let folder = try TemporaryFolder()
        try folder.write(
            "config", "[default]\ncredential_process = echo 'Sign in first' >&2; exit 255\n")
        let environment = [
            "AWS_CONFIG_FILE": folder.path("config"),
            "AWS_SHARED_CREDENTIALS_FILE": folder.path("none"),
        ]
        let error = try #require(
            try await opening("s3://b", "200 OK", Self.listing, environment).error)
        #expect(error.problem.hasSuffix("failed with status 255: Sign in first"), "\(error)")
        #expect(error.remedy == "run it in a terminal to see why")
    }

    @Test(arguments: [
        "OpenSSL/3.0.19: error:0A00010B:SSL routines::wrong version number",
        "gnutls_handshake() failed: An unexpected TLS packet was received.",
    ])
    func `a server without TLS is reported as such`(reason: String) {
        let cause = TransportError(.unreachable, attempt: "GET https://h", reason: reason)
        let error = ProviderError(.unreachable, reason, cause: cause)
        #expect(error.explained.contains("write http://"), "\(error.explained)")
    }

    @Test func `parameters that do not change the location do not change the identity`() throws {
        let plain = try Source(parsing: "s3://b/p?endpoint=https://h").identity
        #expect(try Source(parsing: "s3://b/p?endpoint=https://h&profile=x").identity == plain)
        #expect(try Source(parsing: "s3://b/p?endpoint=https://i").identity != plain)
        #expect(try Source(parsing: "s3://b/q?endpoint=https://h").identity != plain)
    }

    @Test(
        arguments: [
            ("https://s3.eu-west-1.amazonaws.com", nil, "bucket.s3.eu-west-1.amazonaws.com", "/k"),
            ("https://s3.eu-west-1.amazonaws.com", true, "s3.eu-west-1.amazonaws.com", "/bucket/k"),
            ("http://localhost:9000", nil, "localhost:9000", "/bucket/k"),
            ("http://localhost:9000", false, "bucket.localhost:9000", "/k"),
            ("https://host:443/s3/", nil, "host", "/s3/bucket/k"),
        ] as [(String, Bool?, String, String)])
    func `the bucket is in the path or in the host's name`(
        url: String, isPathStyle: Bool?, authority: String, path: String
    ) throws {
        let endpoint = try #require(
            S3Endpoint(url: url, bucket: "bucket", isPathStyle: isPathStyle))
        #expect(endpoint.authority == authority)
        #expect(endpoint.path(S3Key("k")) == path)
    }
}
