import Engine
import Testing
import Transport

@testable import ProviderS3

extension S3CredentialTests {
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
        let answers: [(@Sendable (HTTPRequest) -> (Int, String)?, String)] = [
            ({ _ in nil }, "nobody is there"), ({ _ in (500, "oops") }, "status 500"),
            ({ $0.method == .put ? (200, "T") : (503, "") }, "status 503"),
            ({ $0.method == .put ? (200, "T") : nil }, "nobody is there"),
            ({ $0.url.hasSuffix("/role") ? (500, "") : (200, "role") }, "status 500"),
        ]
        for (answer, part) in answers {
            let error = await #expect(throws: S3CredentialError.self) {
                try await chain(Self.imds, answer).load(after: .machine)
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
