import Engine
import Logging
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

@Suite struct S3CredentialTests {
    func chain(
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
    static let files = [
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

    func config(_ lines: String) -> [String: String] {
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
}
