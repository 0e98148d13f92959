package import Engine
import Logging
package import ProviderSupport
import SystemCalls
import Transport

/// The `s3:` form of a ``Source``: `s3://BUCKET[/PREFIX][?PARAMETERS]`.
///
/// In PREFIX and in values, `%` and two hexadecimal digits stand for a byte, as in ``Source``.
package struct S3Source: SourceForm, Hashable {
    let settings: S3Settings

    package static let forms = "s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION"

    private static let parameters = [
        "anonymous", "endpoint", "metadata", "path-style", "profile", "region", "requester-pays",
        "storage-class",
    ]

    package init(parsing text: Substring) throws(SourceError) {
        guard text.hasPrefix("//") else {
            throw SourceError(
                .misspelled, "the source names no bucket", remedy: "write \(Self.forms)")
        }
        let place = text.dropFirst(2).prefix { $0 != "?" }
        let bucket = String(place.prefix { $0 != "/" })
        try Self.check(bucket: bucket)
        let prefix = try Self.decoded(place.dropFirst(bucket.count + 1), "the prefix")
        let values = try Self.values(of: text.dropFirst(2 + place.count + 1))
        var settings = S3Settings(
            bucket: bucket,
            prefix: S3Key(prefix.isEmpty || prefix.last == S3Key.slash ? prefix : prefix + [0x2F]))
        settings.region = values["region"]
        settings.profile = values["profile"]
        settings.storageClass = values["storage-class"]
        settings.isPathStyle = try Self.truth("path-style", values)
        settings.requesterPays = try Self.truth("requester-pays", values) ?? false
        settings.isAnonymous = try Self.truth("anonymous", values) ?? false
        settings.trustsListings = try Self.trustsListings(values["metadata"])
        settings.endpoint = try values["endpoint"].map { text throws(SourceError) in
            try Self.checked(endpoint: text, bucket: bucket)
        }
        for name in ["region", "storage-class", "profile"] {
            guard let value = values[name] else { continue }
            let isPlain = value.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value < 0x7F }
            guard !value.isEmpty, isPlain || (name == "profile" && !value.isEmpty) else {
                throw SourceError(
                    .misspelled, "\"\(value)\" is not a valid \(name)",
                    remedy: "write \(Self.forms)")
            }
        }
        self.settings = settings
    }

    /// An object store has no worker processes that a long read occupies.
    package var requestsAtFirst: Int { 24 }

    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        try await connect(world, environment: .current)
    }

    /// Returns the same source with other sizes of parts and pages.
    func with(_ limits: S3Settings.Limits) -> S3Source {
        var settings = settings
        settings.limits = limits
        return S3Source(settings: settings)
    }

    private init(settings: S3Settings) {
        self.settings = settings
    }

    func connect(
        _ world: ProviderEnvironment, environment: S3Environment
    ) async throws(SourceError) -> S3Provider {
        var settings = settings
        let profile = environment.profile(environment.profileName(given: settings.profile)) ?? [:]
        let region =
            settings.region ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"]
            ?? profile["region"] ?? "us-east-1"
        if settings.endpoint == nil {
            settings.endpoint = try environment.endpoint(profile: profile)
        }
        let endpoint =
            if let url = settings.endpoint {
                S3Endpoint(
                    url: url, bucket: settings.bucket, isPathStyle: settings.isPathStyle)
            } else {
                S3Endpoint.aws(
                    region: region, bucket: settings.bucket, isPathStyle: settings.isPathStyle)
            }
        guard let endpoint else {
            throw SourceError(
                .unavailable, "the endpoint \"\(settings.endpoint ?? "")\" is not a URL",
                remedy: "write https://HOST or http://HOST:PORT")
        }
        let transport = world.transport
        let chain = S3CredentialChain(
            environment: environment, profile: settings.profile, region: region,
            commands: SecretCommands(world)
        ) { request async throws(TransportError) in
            try await transport.send(request, bytesMax: 64 << 10)
        }
        let client = S3Client(
            settings: settings, endpoint: endpoint, region: region,
            wire: transport, clock: world.clock,
            credentials: settings.isAnonymous
                ? nil
                : S3CredentialCache { last async throws(S3CredentialError) in
                    try await chain.load(after: last)
                },
            logger: world.logger)
        return try await opened(client, at: endpoint, world)
    }

    private func opened(
        _ client: S3Client, at endpoint: S3Endpoint, _ world: ProviderEnvironment
    ) async throws(SourceError) -> S3Provider {
        do {
            let provider = try S3Provider(client, notifications: world.notifications)
            if try await !provider.check(), !settings.prefix.bytes.isEmpty {
                world.note(
                    "there is nothing below \"\(settings.prefix)\" in the bucket "
                        + "\"\(settings.bucket)\" yet; check the prefix if that is unexpected")
            }
            return provider
        } catch let error as ProviderError {
            if let none = error.cause as? S3CredentialError {
                throw SourceError(
                    .unavailable,
                    "there are no credentials for the bucket \"\(settings.bucket)\": "
                        + none.reason, remedy: none.remedy, cause: error)
            }
            throw SourceError(
                .unavailable,
                "cannot list the bucket \"\(settings.bucket)\" at "
                    + "\(endpoint.scheme)://\(endpoint.authority)",
                remedy: Self.remedy(error, client.credentialOrigin), cause: error)
        } catch {
            throw SourceError(
                .unavailable, "cannot start threads", remedy: "\(error)", cause: error)
        }
    }

    private static func remedy(_ error: ProviderError, _ origin: S3CredentialOrigin?) -> String {
        if error.refusal?.code == "NoSuchBucket" {
            return "there is no such bucket: check its name, endpoint and region"
        }
        if let refusal = error.refusal, refusal.code.isEmpty {
            return "the server answers with status \(refusal.status) and does not speak S3: "
                + "check the endpoint's host and port, and whether it is http:// or https://"
        }
        switch (error.refusal?.code, error.kind, origin) {
        case ("RequestTimeTooSkewed", _, _): return "\(error.reason); set this machine's clock"
        case ("AuthorizationHeaderMalformed", _, _):
            return "\(error.reason); write the store's region into the source: region=NAME"
        case (_, .unauthorized, let origin?): return "\(error.reason); \(origin.remedy)"
        case (_, .denied, .some):
            return "\(error.reason); permit these credentials to list it (s3:ListBucket), "
                + "or use others"
        case (_, .unauthorized, nil), (_, .denied, nil):
            return "\(error.reason); remove anonymous=true if you have credentials"
        default: return error.explained
        }
    }

    package var takesNotifications: Bool { true }

    package func extendedAttributeSpace(bytesMax: Int) -> ExtendedAttributeSpace {
        S3Attributes.space
    }

    // MARK: Names

    package var description: String {
        var values = [
            ("endpoint", settings.endpoint), ("region", settings.region),
            ("storage-class", settings.storageClass), ("profile", settings.profile),
        ].compactMap { name, value in value.map { "\(name)=\(Self.encoded($0))" } }
        if let isPathStyle = settings.isPathStyle { values.append("path-style=\(isPathStyle)") }
        if settings.requesterPays { values.append("requester-pays=true") }
        if settings.isAnonymous { values.append("anonymous=true") }
        if settings.trustsListings { values.append("metadata=listing") }
        return place + (values.isEmpty ? "" : "?" + values.joined(separator: "&"))
    }

    /// The bucket and the prefix, and the endpoint, since each store may have a bucket of this name.
    package var identity: String {
        place + (settings.endpoint.map { "?endpoint=\(Self.encoded($0))" } ?? "")
    }

    package var stateName: String {
        let last = settings.prefix.bytes.split(separator: S3Key.slash).last.map(Array.init)
        return StateName.make(
            kind: "s3", label: last ?? Array(settings.bucket.utf8), of: identity.utf8)
    }

    private var place: String {
        let prefix = settings.prefix.bytes.dropLast()
        let path = prefix.isEmpty ? "" : "/" + PercentCoding.encode(prefix, keepsSlash: true)
        return "s3://\(settings.bucket)\(path)"
    }

    private static func encoded(_ text: String) -> String {
        text.replacing("%", with: "%25").replacing("&", with: "%26").replacing(" ", with: "%20")
    }

    // MARK: Parsing

    private static func check(bucket: String) throws(SourceError) {
        let isPlain = bucket.utf8.allSatisfy {
            PercentCoding.isUnreserved($0) && $0 != UInt8(ascii: "~")
        }
        guard (1...255).contains(bucket.utf8.count), isPlain, bucket != ".", bucket != ".." else {
            throw SourceError(
                .misspelled, "\"\(bucket)\" is not a bucket name",
                remedy: "write \(forms)")
        }
    }

    /// - Returns: The endpoint in one spelling.
    private static func checked(
        endpoint text: String, bucket: String
    ) throws(SourceError) -> String {
        if !text.contains("://"),
            S3Endpoint(url: "https://\(text)", bucket: bucket, isPathStyle: true) != nil
        {
            // Neither is likelier: stores at home have no certificate, others require one.
            throw SourceError(
                .misspelled, "the endpoint \"\(text)\" lacks http:// or https://",
                remedy:
                    "write endpoint=https://\(text), or endpoint=http://\(text) if it has no TLS")
        }
        guard let endpoint = S3Endpoint(url: text, bucket: bucket, isPathStyle: true) else {
            throw SourceError(
                .misspelled, "the endpoint is not the URL of a server, or has a user in it",
                remedy: "write endpoint=https://HOST or endpoint=http://HOST:PORT")
        }
        return "\(endpoint.scheme)://\(endpoint.authority)\(endpoint.basePath)"
    }

    private static func decoded(
        _ text: Substring, _ part: String
    ) throws(SourceError) -> [UInt8] {
        guard let bytes = PercentCoding.decode(String(text)), !bytes.contains(0) else {
            throw SourceError(
                .misspelled, "a \"%\" in \(part) is not followed by two hexadecimal digits",
                remedy: "write a percent sign as %25 and a question mark as %3F")
        }
        return bytes
    }

    private static func trustsListings(_ metadata: String?) throws(SourceError) -> Bool {
        switch metadata {
        case nil, "objects": return false
        case "listing": return true
        case .some:
            throw SourceError(
                .misspelled, "metadata is neither listing nor objects",
                remedy: "write metadata=listing to show what listings tell of each file, or "
                    + "metadata=objects to ask for the mode and time of each")
        }
    }

    private static func truth(
        _ name: String, _ values: [String: String]
    ) throws(SourceError) -> Bool? {
        switch values[name] {
        case nil: return nil
        case "true", "": return true
        case "false": return false
        case .some:
            throw SourceError(
                .misspelled, "\(name) is neither true nor false",
                remedy: "write \(name)=true or \(name)=false")
        }
    }

    private static func values(of query: Substring) throws(SourceError) -> [String: String] {
        var values = try SourceParameters.values(
            of: query, names: parameters, owner: "a bucket",
            hint: "it has \(parameters.joined(separator: ", "))")
        for (name, value) in values {
            values[name] = String(decoding: try decoded(value[...], name), as: UTF8.self)
        }
        return values
    }
}

extension S3Provider {
    /// Opens a source with an environment and with sizes that are not the process's own.
    ///
    /// - Parameters:
    ///   - source: As a user writes it.
    ///   - environment: Replaces the process's variables.
    ///   - partBytes: Larger files are sent in parts; S3 requires 5 MiB or more.
    ///   - partsAtOnce: Parts of one file that are on their way.
    ///   - copyBytesMax: Larger copies are made in parts of this size.
    ///   - pageEntries: The number of objects in a page of a listing.
    package static func connect(
        to source: String, environment: [String: String], world: ProviderEnvironment,
        partBytes: UInt64 = 16 << 20, partsAtOnce: Int = 4, copyBytesMax: UInt64 = 5 << 30,
        pageEntries: Int = 1_000
    ) async throws(SourceError) -> S3Provider {
        var limits = S3Settings.Limits()
        (limits.wholeBytesMax, limits.partBytes) = (partBytes, partBytes)
        limits.partsAtOnce = partsAtOnce
        limits.copyBytesMax = copyBytesMax
        limits.copyPartBytes = min(limits.copyPartBytes, copyBytesMax)
        limits.pageEntries = pageEntries
        let parsed = try S3Source(parsing: source.dropFirst("s3:".count)).with(limits)
        return try await parsed.connect(
            world, environment: S3Environment(values: environment, read: S3Environment.current.read)
        )
    }
}
