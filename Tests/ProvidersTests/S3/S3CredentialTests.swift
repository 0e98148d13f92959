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

@Suite struct S3CredentialTests {
    private func chain(
        _ values: [String: String], files: [String: String] = [:], profile: String? = nil,
        _ answer: @escaping @Sendable (HTTPRequest) -> (Int, String)? = { _ in nil }
    ) -> S3CredentialChain {
        let environment = S3Environment(values: values) { path in
            files[path].map { Array($0.utf8) }
        }
        return S3CredentialChain(
            environment: environment, profile: profile, region: "eu-west-1",
            commands: SecretCommands(logger: Logger(label: "test"))
        ) {
            request async throws(TransportError) in
            guard let (status, body) = answer(request) else {
                throw TransportError(.unreachable, attempt: "", reason: "nobody is there")
            }
            return (HTTPResponse(status: status), Array(body.utf8))
        }
    }

    private static let credentialsFile = """
        # mine
        [default]
        aws_access_key_id = D
        aws_secret_access_key=ds  # not so secret
        [ other ]
        aws_access_key_id = O
        aws_secret_access_key = os
        aws_session_token = ot
        """
    private static let files = [
        "/home/me/.aws/credentials": credentialsFile,
        "/home/me/.aws/config": "[profile other]\nregion = us-west-2\ns3 =\n  x = y\n",
        "/token": "web-token\n",
    ]

    @Test func `the environment takes precedence over the files`() async throws {
        var values = ["HOME": "/home/me"]
        #expect(try await chain(values, files: Self.files).load().accessKey == "D")
        #expect(try await chain(values, files: Self.files).load().secretKey == "ds")
        values["AWS_PROFILE"] = "other"
        #expect(try await chain(values, files: Self.files).load().sessionToken == "ot")
        values["AWS_ACCESS_KEY_ID"] = "E"
        values["AWS_SECRET_ACCESS_KEY"] = "es"
        #expect(try await chain(values, files: Self.files).load().accessKey == "E")
        let named = chain(values, files: Self.files, profile: "default")
        #expect(try await named.load().accessKey == "D")
        let missing = await #expect(throws: S3CredentialError.self) {
            try await chain(values, files: Self.files, profile: "nobody").load()
        }
        #expect(missing?.reason.contains("nobody") == true)
        #expect(
            S3Environment(values: values) { Self.files[$0].map { Array($0.utf8) } }
                .profile("other")?["region"] == "us-west-2")
    }

    @Test func `a machine gives a token first, then credentials`() async throws {
        let found = try await chain([:]) { request in
            let token = request.headers.first { $0.name == "X-aws-ec2-metadata-token" }?.value
            switch (request.method, request.url) {
            case (.put, "http://169.254.169.254/latest/api/token"): return (200, "T")
            case (.get, let url) where url.hasSuffix("/security-credentials/") && token == "T":
                return (200, "role\n")
            case (.get, let url) where url.hasSuffix("/security-credentials/role") && token == "T":
                return (
                    200,
                    """
                    {"Code": "Success", "AccessKeyId": "M", "SecretAccessKey": "ms",
                    "Token": "mt", "Expiration": "2020-09-13T12:26:40Z"}
                    """
                )
            default: return (404, "")
            }
        }.load()
        #expect(found.accessKey == "M")
        #expect(found.sessionToken == "mt")
        #expect(found.expires == Timestamp(seconds: 1_600_000_000))
    }

    @Test func `a container's token is sent nowhere else`() async throws {
        let values = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1234/c",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": "hush",
        ]
        let found = try await chain(values) { request in
            let isTold = request.headers.contains {
                $0.name == "Authorization" && $0.value == "hush"
            }
            let body = "{\"AccessKeyId\": \"C\", \"SecretAccessKey\": \"cs\"}"
            return isTold && request.url == "http://127.0.0.1:1234/c" ? (200, body) : (403, "")
        }.load()
        #expect(found.accessKey == "C")
        for url in ["http://example.org/", "http://127.0.0.1@example.org/", "ftp://localhost/"] {
            var values = values
            values["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url
            await #expect(throws: S3CredentialError.self, "\(url)") {
                try await chain(values) { _ in (200, "") }.load()
            }
        }
    }

    @Test func `a web identity is exchanged for credentials`() async throws {
        let values = [
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
        ]
        let found = try await chain(values, files: Self.files) { request in
            guard case .bytes(let body) = request.body,
                request.url == "https://sts.eu-west-1.amazonaws.com/",
                String(decoding: body, as: UTF8.self).contains("WebIdentityToken=web-token")
            else { return (400, "") }
            return (
                200,
                """
                <AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
                <AccessKeyId>W</AccessKeyId><SecretAccessKey>ws</SecretAccessKey>
                <SessionToken>wt</SessionToken><Expiration>2020-09-13T12:26:40Z</Expiration>
                </Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>
                """
            )
        }.load()
        #expect(found.accessKey == "W")
        #expect(found.expires == Timestamp(seconds: 1_600_000_000))
    }

    private func config(_ lines: String) -> [String: String] {
        ["/home/me/.aws/config": "[profile p]\n\(lines)\n"]
    }

    @Test func `a program's credentials are used until they expire`() async throws {
        let printed = """
            {"Version": 1, "AccessKeyId": "P", "SecretAccessKey": "ps", "SessionToken": "pt", \
            "Expiration": "2020-09-13T14:26:40+02:00"}
            """
        let found = try await chain(
            ["HOME": "/home/me"], files: config("credential_process = printf '%s' '\(printed)'"),
            profile: "p"
        ).load()
        #expect(
            found
                == S3Credentials(
                    accessKey: "P", secretKey: "ps", sessionToken: "pt",
                    expires: Timestamp(seconds: 1_600_000_000), origin: .process(profile: "p")))
    }

    @Test func `the error of a program is repeated, at most one line of it`()
        async throws
    {
        func said(_ command: String) async -> String {
            let error = await #expect(throws: S3CredentialError.self) {
                try await chain(
                    ["HOME": "/home/me"], files: config("credential_process = \(command)"),
                    profile: "p"
                ).load()
            }
            return error?.reason ?? ""
        }
        #expect(
            await said("echo hush; printf 'The token\\n  has\\e expired\\n' >&2; exit 3")
                == "credential_process of the profile \"p\" failed with status 3: The token has expired"
        )
        #expect(await said("kill -9 $$").hasSuffix("was ended by signal 9"))
        let much = await said("head -c 5000 /dev/zero | tr '\\0' x >&2; exit 1")
        #expect(much.contains("status 1: xxx") && much.utf8.count < 400, "\(much)")
    }

    @Test(arguments: [
        ("credential_process = echo hush; exit 3", "failed"),
        ("credential_process = echo hush", "printed no credentials"),
        (
            "credential_process = echo '{\"Version\": 2, \"AccessKeyId\": \"hush\", "
                + "\"SecretAccessKey\": \"hush\"}'", "version 1"
        ),
        ("role_arn = arn:aws:iam::1:role/r\nsource_profile = q", "has source_profile"),
        ("role_arn = arn:aws:iam::1:role/r\ncredential_source = Environment", "credential_source"),
        ("sso_session = s\nsso_account_id = 1", "has sso_session"),
        ("sso_start_url = https://x", "export-credentials --profile p"),
        ("login_session = x", "has login_session"),
        ("role_arn = arn:aws:iam::1:role/r", "has role_arn"),
    ])
    func `a profile without usable credentials names the line that is the reason`(
        lines: String, part: String
    ) async throws {
        let error = await #expect(throws: S3CredentialError.self) {
            try await chain(["HOME": "/home/me"], files: config(lines), profile: "p").load()
        }
        let said = error.map { "\($0.reason); \($0.remedy)" } ?? ""
        #expect(said.contains(part), "\(said)")
        #expect(!said.contains("hush"))
    }

    @Test func `a web identity without a role names the missing setting`() async throws {
        let environment = await #expect(throws: S3CredentialError.self) {
            try await chain(
                ["AWS_WEB_IDENTITY_TOKEN_FILE": "/token", "HOME": "/home/me"], files: Self.files
            ).load()
        }
        #expect(
            environment?.reason.contains("the environment has AWS_WEB_IDENTITY_TOKEN_FILE") == true)
        #expect(environment?.reason.contains("lacks AWS_ROLE_ARN") == true)
        let profile = await #expect(throws: S3CredentialError.self) {
            try await chain(
                ["HOME": "/home/me"], files: config("web_identity_token_file = /token"),
                profile: "p"
            ).load()
        }
        #expect(
            profile?.reason.contains("\"p\" has web_identity_token_file and lacks role_arn") == true
        )
        // A role alone may belong to other tools.
        let alone = ["AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "HOME": "/home/me"]
        #expect(try await chain(alone, files: Self.files).load().accessKey == "D")
    }

    @Test func `a file that begins with a byte order mark is read`() async throws {
        for files in [
            [
                "credentials":
                    "\u{FEFF}[default]\naws_access_key_id = M\naws_secret_access_key = s\n"
            ],
            [
                "config":
                    "\u{FEFF}[default]\r\naws_access_key_id = M\r\naws_secret_access_key = s\r\n"
            ],
        ] {
            let named = Dictionary(
                uniqueKeysWithValues: files.map { ("/home/me/.aws/\($0.key)", $0.value) })
            #expect(
                try await chain(["HOME": "/home/me"], files: named).load().accessKey == "M")
        }
    }

    /// The order is that of AWS's tools: "Service-specific endpoints" in their reference.
    @Test func `an endpoint for S3 in a services section takes precedence`() throws {
        let config = """
            [default]
            endpoint_url = http://all
            services = mine
            [profile other]
            services = none
            endpoint_url = http://all
            [profile lost]
            services = nowhere
            [services mine]
            ec2 =
              endpoint_url = http://ec2
            s3 =
            \t# comment
              endpoint_url = http://s3:9000 ; comment
              other = 1
            sts =
              endpoint_url = http://sts
            [services none]
            sqs =
                endpoint_url = http://sqs
            s3 = x
                endpoint_url = http://no
            """
        func endpoint(_ name: String, _ values: [String: String] = [:]) throws -> String? {
            let environment = S3Environment(
                values: values.merging(["HOME": "/home/me"]) { $1 }
            ) { $0 == "/home/me/.aws/config" ? Array(config.utf8) : nil }
            return try environment.endpoint(profile: environment.profile(name) ?? [:])
        }
        #expect(try endpoint("default") == "http://s3:9000")
        #expect(try endpoint("other") == "http://all")
        #expect(try endpoint("missing") == nil)
        #expect(try endpoint("default", ["AWS_ENDPOINT_URL": "http://e"]) == "http://e")
        #expect(
            try endpoint(
                "lost", ["AWS_ENDPOINT_URL_S3": "http://e3", "AWS_ENDPOINT_URL": "http://e"])
                == "http://e3")
        let error = #expect(throws: SourceError.self) { try endpoint("lost") }
        #expect(error?.problem.contains("[services nowhere]") == true)
    }

    @Test func `keys in a profile take precedence over its program`() async throws {
        let keys = "aws_access_key_id = K\naws_secret_access_key = ks\n"
        for other in ["sso_session = s", "credential_process = false", "source_profile = q"] {
            let found = try await chain(
                ["HOME": "/home/me"], files: config(keys + other), profile: "p"
            ).load()
            #expect(found.accessKey == "K", "\(other)")
        }
    }

    @Test(arguments: [
        ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
        ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"),
    ])
    func `half a pair of keys names the other half`(given: String, missing: String) async throws {
        let environment = await #expect(throws: S3CredentialError.self) {
            try await chain([given: "x", "HOME": "/home/me"], files: Self.files).load()
        }
        #expect(environment?.reason.contains("lacks \(missing)") == true)
        let file = ["/home/me/.aws/credentials": "[default]\n\(given.lowercased()) = x\n"]
        let profile = await #expect(throws: S3CredentialError.self) {
            try await chain(["HOME": "/home/me"], files: file).load()
        }
        #expect(profile?.reason.contains("lacks \(missing.lowercased())") == true)
    }

    @Test func `if there are no credentials, the error names a remedy`() async throws {
        let error = await #expect(throws: S3CredentialError.self) {
            try await chain(["AWS_EC2_METADATA_DISABLED": "true"]).load()
        }
        #expect(error?.remedy.contains("anonymous=true") == true)
    }

    private static let imds = ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://imds"]

    /// Goal: a service that is in trouble says nothing of the credentials, and the role that there was
    /// is not taken for gone.
    @Test func `a machine's service that is in trouble is a passing error`() async throws {
        let answers: [((HTTPRequest) -> (Int, String)?, String)] = [
            ({ _ in nil }, "nobody is there"), ({ _ in (500, "oops") }, "status 500"),
            ({ $0.method == .put ? (200, "T") : (503, "") }, "status 503"),
            ({ $0.method == .put ? (200, "T") : nil }, "nobody is there"),
            ({ $0.url.hasSuffix("/role") ? (500, "") : (200, "role") }, "status 500"),
        ]
        for (answer, part) in answers {
            nonisolated(unsafe) let answer = answer
            let error = await #expect(throws: S3CredentialError.self) {
                try await chain(Self.imds) { answer($0) }.load(after: .machine)
            }
            #expect(
                error?.kind == .passing && error?.reason.contains(part) == true, "\(error as Any)")
        }
        let gone = await #expect(throws: S3CredentialError.self) {
            try await chain(Self.imds) { _ in (404, "") }.load(after: .machine)
        }
        #expect(gone?.kind == .final)
    }

    @Test func `an answer on a machine without the service does not hide the remedy`() async throws
    {
        for answer in [nil, (404, ""), (502, "<html>")] as [(Int, String)?] {
            let error = await #expect(throws: S3CredentialError.self) {
                try await chain(Self.imds) { _ in answer }.load()
            }
            #expect(error?.reason.hasPrefix("no credentials were found") == true)
            #expect(error?.remedy.contains("AWS_ACCESS_KEY_ID") == true)
        }
    }

    @Test func `a machine whose role gives no credentials reports the reason`() async throws {
        let body = "{\"Code\": \"AssumeRoleUnauthorizedAccess\", \"Message\": \"EC2 may not\"}"
        let error = await #expect(throws: S3CredentialError.self) {
            try await chain(Self.imds) { (200, $0.url.hasSuffix("/role") ? body : "role") }.load()
        }
        #expect(
            error?.reason.hasSuffix("EC2 may not (AssumeRoleUnauthorizedAccess)") == true,
            "\(error as Any)")
    }

    @Test(arguments: [
        (400, "InvalidIdentityToken", S3CredentialError.Kind.final),
        (403, "AccessDenied", .final), (400, "IDPCommunicationError", .passing),
        (400, "Throttling", .passing), (500, "InternalFailure", .passing),
    ])
    func `the reason why a web identity gets no credentials is reported`(
        status: Int, code: String, kind: S3CredentialError.Kind
    ) async throws {
        let values = [
            "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": "/token",
        ]
        let body = """
            <ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
            <Type>Sender</Type><Code>\(code)</Code><Message>No
            way</Message></Error></ErrorResponse>
            """
        let error = await #expect(throws: S3CredentialError.self) {
            try await chain(values, files: Self.files) { _ in (status, body) }.load()
        }
        #expect(error?.reason.hasSuffix("are not available: No way (\(code))") == true)
        #expect(error?.kind == kind)
    }

    @Test func `a container that gives no credentials reports the reason`() async throws {
        let values = ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1234/c"]
        let error = await #expect(throws: S3CredentialError.self) {
            try await chain(values) { _ in
                (401, "{\"code\": \"Denied\", \"message\": \"bad token\"}")
            }.load()
        }
        #expect(error?.reason.hasSuffix("bad token (Denied)") == true)
        #expect(error?.kind == .final)
    }

    @Test func `secrets are not printed`() {
        let credentials = S3Credentials(
            accessKey: "AKIA", secretKey: "hush", sessionToken: "still", origin: .machine)
        var text = "\(credentials) \(String(reflecting: credentials))"
        dump(credentials, to: &text)
        for secret in ["AKIA", "hush", "still"] { #expect(!text.contains(secret)) }
    }
}

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
