import Engine
import Foundation
import ProviderSupport
import SystemCalls
import Transport

/// Sends a request and collects a small answer.
typealias S3Exchange =
    @Sendable (HTTPRequest) async throws(TransportError) -> (
        response: HTTPResponse, body: [UInt8]
    )

/// Finds credentials where AWS's own tools do, in their order: the profile that the source names,
/// the environment, a web identity, the shared files, the container, the machine.
struct S3CredentialChain: Sendable {
    let environment: S3Environment
    /// The profile that the source names.
    let profile: String?
    /// Part of the names of AWS's servers.
    let region: String
    let commands: SecretCommands
    let exchange: S3Exchange

    private static let remedyOfNone =
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them into ~/.aws/credentials, or "
        + "add anonymous=true to the source"

    /// - Parameter last: The origin of the previous credentials.
    func load(
        after last: S3CredentialOrigin? = nil
    ) async throws(S3CredentialError) -> S3Credentials {
        if profile == nil {
            if let found = try ofEnvironment() { return found }
            if let found = try await ofWebIdentity(
                role: ("AWS_ROLE_ARN", environment["AWS_ROLE_ARN"]),
                token: (
                    "AWS_WEB_IDENTITY_TOKEN_FILE", environment["AWS_WEB_IDENTITY_TOKEN_FILE"]
                ),
                session: environment["AWS_ROLE_SESSION_NAME"], in: "the environment")
            {
                return found
            }
        }
        if let found = try await ofProfile() { return found }
        if let found = try await ofContainer() { return found }
        if let found = try await ofMachine(isKnown: last == .machine) { return found }
        throw S3CredentialError("no credentials were found", remedy: Self.remedyOfNone)
    }

    private func ofEnvironment() throws(S3CredentialError) -> S3Credentials? {
        try Self.pair(
            ("AWS_ACCESS_KEY_ID", environment["AWS_ACCESS_KEY_ID"]),
            ("AWS_SECRET_ACCESS_KEY", environment["AWS_SECRET_ACCESS_KEY"]),
            sessionToken: environment["AWS_SESSION_TOKEN"], in: "the environment",
            origin: .environment)
    }

    /// Combines two keys, each with the name by which users know it.
    ///
    /// - Returns: nil if there is neither.
    /// - Throws: If only one is set, since falling back to other credentials would be a surprise.
    private static func pair(
        _ access: (name: String, value: String?), _ secret: (name: String, value: String?),
        sessionToken: String?, in place: String, origin: S3CredentialOrigin
    ) throws(S3CredentialError) -> S3Credentials? {
        switch (access.value, secret.value) {
        case (let accessKey?, let secretKey?):
            return S3Credentials(
                accessKey: accessKey, secretKey: secretKey, sessionToken: sessionToken,
                origin: origin)
        case (nil, nil): return nil
        case (.some, nil): throw half(lacking: secret.name, beside: access.name, place)
        case (nil, .some): throw half(lacking: access.name, beside: secret.name, place)
        }
    }

    private static func half(
        lacking missing: String, beside given: String, _ place: String
    ) -> S3CredentialError {
        S3CredentialError(
            "\(place) has \(given) and lacks \(missing)", remedy: "set both, or neither")
    }

    private func ofProfile() async throws(S3CredentialError) -> S3Credentials? {
        let name = environment.profileName(given: profile)
        guard let values = environment.profile(name) else {
            guard name == "default", profile == nil else {
                throw S3CredentialError(
                    "there is no profile \"\(name)\" in the shared credentials file or the shared "
                        + "config file",
                    remedy: "correct profile= of the source, or AWS_PROFILE")
            }
            return nil
        }
        if let found = try Self.pair(
            ("aws_access_key_id", values["aws_access_key_id"]),
            ("aws_secret_access_key", values["aws_secret_access_key"]),
            sessionToken: values["aws_session_token"], in: "the profile \"\(name)\"",
            origin: .profile(name))
        {
            return found
        }
        if let found = try await ofWebIdentity(
            role: ("role_arn", values["role_arn"]),
            token: ("web_identity_token_file", values["web_identity_token_file"]),
            session: values["role_session_name"], in: "the profile \"\(name)\"")
        {
            return found
        }
        if let command = values["credential_process"], !command.isEmpty {
            return try await ofProcess(Secret(command), profile: name)
        }
        if let key = Self.unread.first(where: { values[$0] != nil }) {
            throw S3CredentialError(
                "the profile \"\(name)\" has \(key), which Apus does not read",
                remedy: "use a profile that has \"credential_process = aws configure "
                    + "export-credentials --profile \(name)\"")
        }
        return nil
    }

    /// Settings of a profile that name credentials and that only AWS's own tools understand.
    private static let unread = [
        "sso_session", "sso_start_url", "sso_account_id", "login_session", "source_profile",
        "credential_source", "role_arn",
    ]

    /// Runs a program of the user that prints credentials.
    private func ofProcess(
        _ line: Secret, profile: String
    ) async throws(S3CredentialError) -> S3Credentials {
        let name = "credential_process of the profile \"\(profile)\""
        let output: [UInt8]
        do throws(SecretCommand.Failure) {
            output = try await commands.output(of: SecretCommand(line: line, name: name))
        } catch {
            throw S3CredentialError(
                "\(name) \(error.problem)", remedy: "run it in a terminal to see why")
        }
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(output)),
            document.Version == 1
        else {
            throw S3CredentialError(
                "\(name) printed no credentials of version 1",
                remedy: "run it in a terminal to check its output")
        }
        return document.credentials(.process(profile: profile))
    }

    /// The output of such a program, or the answer of a container or machine.
    private struct Document: Decodable {
        let Version: Int?
        let AccessKeyId: String
        let SecretAccessKey: String
        let SessionToken: String?
        /// In an answer, instead of ``SessionToken``.
        let Token: String?
        let Expiration: String?

        func credentials(_ origin: S3CredentialOrigin) -> S3Credentials {
            S3Credentials(
                accessKey: AccessKeyId, secretKey: SecretAccessKey,
                sessionToken: SessionToken ?? Token,
                expires: Expiration.flatMap { Timestamp(rfc3339: $0) }, origin: origin)
        }
    }

    // MARK: Servers

    /// AssumeRoleWithWebIdentity: exchanges a token from a file for credentials.
    ///
    /// - Parameters:
    ///   - role: With the name by which users know it.
    ///   - token: The token's file, likewise.
    /// - Returns: nil if there is no token.
    /// - Throws: Also for a token without a role, as AWS's own tools do.
    private func ofWebIdentity(
        role: (name: String, value: String?), token: (name: String, value: String?),
        session: String?, in place: String
    ) async throws(S3CredentialError) -> S3Credentials? {
        guard let tokenFile = token.value else { return nil }
        guard let role = role.value else {
            throw Self.half(lacking: role.name, beside: token.name, place)
        }
        guard let token = environment.text(tokenFile) else {
            throw S3CredentialError(
                "the web identity's token \"\(tokenFile)\" cannot be read",
                remedy: "make it a file that this user may read")
        }
        let server =
            environment["AWS_ENDPOINT_URL_STS"] ?? "https://sts.\(region).amazonaws.com"
        let parameters = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"),
            ("RoleArn", role), ("RoleSessionName", session ?? "apus"),
            ("WebIdentityToken", String(token.filter { !$0.isWhitespace })),
        ]
        let form = parameters.map { "\($0.0)=\(PercentCoding.encode($0.1))" }
            .joined(separator: "&")
        let body = try await ask(
            HTTPRequest(
                .post, "\(server)/",
                headers: [("Content-Type", "application/x-www-form-urlencoded")],
                body: .bytes(Array(form.utf8)), timeout: .seconds(20)),
            of: "the web identity's credentials")
        guard
            let credentials = (try? S3Element(parsing: body))?["AssumeRoleWithWebIdentityResult"]?[
                "Credentials"],
            let accessKey = credentials.text("AccessKeyId"),
            let secretKey = credentials.text("SecretAccessKey")
        else {
            throw S3CredentialError(
                "the web identity's server gave no credentials",
                remedy: "check AWS_ENDPOINT_URL_STS")
        }
        return S3Credentials(
            accessKey: accessKey, secretKey: secretKey,
            sessionToken: credentials.text("SessionToken"),
            expires: credentials.text("Expiration").flatMap { Timestamp(rfc3339: $0) },
            origin: .webIdentity)
    }

    /// Asks the server that the container's environment names.
    private func ofContainer() async throws(S3CredentialError) -> S3Credentials? {
        let url: String
        if let relative = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            url = "http://169.254.170.2\(relative)"
        } else if let full = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            guard Self.isTrusted(full) else {
                throw S3CredentialError(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this host",
                    remedy: "correct it, or unset it")
            }
            url = full
        } else {
            return nil
        }
        var headers: [(name: String, value: String)] = []
        if let file = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] {
            guard let token = environment.text(file) else {
                throw S3CredentialError(
                    "the container's token \"\(file)\" cannot be read",
                    remedy: "make it a file that this user may read")
            }
            headers = [("Authorization", token.filter { !$0.isNewline })]
        } else if let token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] {
            headers = [("Authorization", token)]
        }
        let request = HTTPRequest(.get, url, headers: headers, timeout: .seconds(5))
        return try Self.credentials(
            try await ask(request, of: "the container's credentials"), .container)
    }

    /// Whether the token may be sent there: over TLS, or to this host.
    private static func isTrusted(_ url: String) -> Bool {
        if url.hasPrefix("https://") { return true }
        guard url.hasPrefix("http://") else { return false }
        let host = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard !host.contains("@") else { return false }
        let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
        return [
            "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
        ].contains(String(name))
    }

    /// The instance metadata service, version 2 only: it asks for a token first.
    ///
    /// - Parameter isKnown: Whether the previous credentials came from it.
    /// - Returns: nil if this machine has no such service, or no role.
    private func ofMachine(isKnown: Bool) async throws(S3CredentialError) -> S3Credentials? {
        if environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() == "true" { return nil }
        let server =
            environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"].map {
                $0.hasSuffix("/") ? String($0.dropLast()) : $0
            } ?? "http://169.254.169.254"
        let base = "\(server)/latest"
        let whom = "the machine's credentials"
        let token = HTTPRequest(
            .put, "\(base)/api/token",
            headers: [("X-aws-ec2-metadata-token-ttl-seconds", "21600")], body: .bytes([]),
            connectTimeout: .seconds(1), timeout: .seconds(2))
        let answer: (response: HTTPResponse, body: [UInt8])
        do throws(S3CredentialError) {
            guard let found = try await find(token, whom) else { return nil }
            answer = found
        } catch {
            if isKnown { throw error }
            // The machine has no such service, or it is in trouble, or a proxy answered instead.
            throw S3CredentialError(
                "no credentials were found, and \(error.reason)", remedy: Self.remedyOfNone,
                kind: .passing)
        }
        let headers = [
            (name: "X-aws-ec2-metadata-token", value: String(decoding: answer.body, as: UTF8.self))
        ]
        let path = "\(base)/meta-data/iam/security-credentials/"
        let role = HTTPRequest(.get, path, headers: headers, timeout: .seconds(5))
        guard let roles = try await find(role, whom),
            let name = String(decoding: roles.body, as: UTF8.self)
                .split(whereSeparator: \.isNewline).first
        else { return nil }
        let request = HTTPRequest(
            .get, path + PercentCoding.encode(name.utf8), headers: headers, timeout: .seconds(5))
        return try Self.credentials(try await ask(request, of: whom), .machine)
    }

    /// - Returns: nil if the server refuses, since the resource does not exist then.
    private func find(
        _ request: HTTPRequest, _ whom: String
    ) async throws(S3CredentialError) -> (response: HTTPResponse, body: [UInt8])? {
        let answer = try await answer(to: request, of: whom)
        if answer.response.isSuccess { return answer }
        guard Self.isPassing(answer.response, code: "") else { return nil }
        throw Self.refusal(of: whom, request, answer)
    }

    private func ask(
        _ request: HTTPRequest, of whom: String
    ) async throws(S3CredentialError) -> [UInt8] {
        let answer = try await answer(to: request, of: whom)
        guard answer.response.isSuccess else { throw Self.refusal(of: whom, request, answer) }
        return answer.body
    }

    private func answer(
        to request: HTTPRequest, of whom: String
    ) async throws(S3CredentialError) -> (response: HTTPResponse, body: [UInt8]) {
        do {
            return try await exchange(request)
        } catch {
            throw S3CredentialError(
                "\(whom) cannot be requested: \(error.reason)",
                remedy: "check that \(Self.server(of: request)) can be reached", kind: .passing)
        }
    }

    private static func refusal(
        of whom: String, _ request: HTTPRequest, _ answer: (response: HTTPResponse, body: [UInt8])
    ) -> S3CredentialError {
        let words = S3CredentialRefusal(answer.body)
        return S3CredentialError(
            "\(whom) are not available: \(words.description ?? "status \(answer.response.status)")",
            remedy: "find out why \(server(of: request)) refuses them",
            kind: isPassing(answer.response, code: words.code) ? .passing : .final)
    }

    private static func isPassing(_ response: HTTPResponse, code: String) -> Bool {
        response.status >= 500 || response.status == 429 || passingCodes.contains(code)
    }

    /// Codes of passing errors that STS sends with status 400.
    private static let passingCodes = [
        "IDPCommunicationError", "RequestLimitExceeded", "RequestTimeout", "Throttling",
        "ThrottlingException",
    ]

    /// `http://169.254.169.254`
    private static func server(of request: HTTPRequest) -> String {
        request.url.split(separator: "/", maxSplits: 2).prefix(2).joined(separator: "//")
    }

    private static func credentials(
        _ body: [UInt8], _ origin: S3CredentialOrigin
    ) throws(S3CredentialError) -> S3Credentials {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(body)) else {
            let words = S3CredentialRefusal(body).description ?? "the answer cannot be read"
            throw S3CredentialError(
                "the \(origin == .machine ? "machine" : "container") gives no credentials: "
                    + words,
                remedy: origin.remedy)
        }
        return document.credentials(origin)
    }
}
