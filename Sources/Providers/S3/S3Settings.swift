import SystemCalls

/// The address of a bucket, and how it is used.
struct S3Settings: Hashable, Sendable {
    var bucket: String
    /// Empty, or ending in `/`.
    var prefix: S3Key
    /// `https://host[:port]`; nil for AWS's own.
    var endpoint: String?
    /// nil to use that of the environment or the profile.
    var region: String?
    /// Whether the bucket is in the path and not in the host's name; nil to choose automatically.
    var isPathStyle: Bool?
    var storageClass: String?
    var requesterPays = false
    var profile: String?
    var isAnonymous = false
    /// Whether programs get no more metadata than listings contain.
    var trustsListings = false

    /// Sizes and counts, which only tests change.
    struct Limits: Hashable, Sendable {
        /// Larger files are sent in parts.
        var wholeBytesMax: UInt64 = 16 << 20
        /// The size of parts, larger for a file of too many. S3: 5 MiB or more.
        var partBytes: UInt64 = 8 << 20
        /// S3: 10,000.
        var partsMax: UInt64 = 10_000
        /// Parts of one file that are hashed, wait for their turn or are being sent.
        var partsAtOnce = 16
        /// Larger copies are made in parts. S3: at most 5 GiB.
        var copyBytesMax: UInt64 = 5 << 30
        var copyPartBytes: UInt64 = 512 << 20
        /// Parts of one object that the store copies concurrently, each of which takes it long.
        var copyPartsAtOnce = 4
        /// Objects of a directory that are moved concurrently.
        var movesAtOnce = 16
        var pageEntries = 1_000
    }

    var limits = Limits()
}

/// The server that requests go to.
struct S3Endpoint: Hashable, Sendable {
    let scheme: String
    /// With the port, unless it is the scheme's own.
    let authority: String
    let bucket: String
    let isPathStyle: Bool
    /// The path before the bucket, without a slash at its end.
    let basePath: String

    /// - Parameter url: `scheme://host[:port][/path]`.
    init?(url: String, bucket: String, isPathStyle: Bool?) {
        guard let colon = url.firstRange(of: "://") else { return nil }
        scheme = url[..<colon.lowerBound].lowercased()
        let rest = url[colon.upperBound...]
        var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }.lowercased()
        guard scheme == "http" || scheme == "https", !authority.isEmpty,
            !authority.contains("@"), !authority.contains(where: \.isWhitespace)
        else { return nil }
        var path = String(rest.dropFirst(authority.count))
        guard !path.contains("?"), !path.contains("#") else { return nil }
        while path.hasSuffix("/") { path.removeLast() }
        basePath = path
        let ownPort = scheme == "http" ? ":80" : ":443"
        if authority.hasSuffix(ownPort) { authority.removeLast(ownPort.count) }
        self.bucket = bucket
        let isAWS =
            authority.hasSuffix(".amazonaws.com") || authority.hasSuffix(".amazonaws.com.cn")
        // A wildcard certificate does not match a bucket's name with a dot.
        let isInName = isAWS && !(bucket.contains(".") && scheme == "https") && path.isEmpty
        self.isPathStyle = isPathStyle ?? !isInName
        self.authority = self.isPathStyle ? authority : "\(bucket).\(authority)"
    }

    /// AWS's own servers.
    static func aws(region: String, bucket: String, isPathStyle: Bool?) -> S3Endpoint? {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        return S3Endpoint(
            url: "https://s3.\(region).\(domain)", bucket: bucket, isPathStyle: isPathStyle)
    }

    /// The path of an object, or of the bucket, percent-encoded.
    func path(_ key: S3Key?) -> String {
        let bucket = isPathStyle ? "/\(PercentCoding.encode(bucket))" : ""
        guard let key else { return "\(basePath)\(bucket)\(isPathStyle ? "" : "/")" }
        return "\(basePath)\(bucket)/\(PercentCoding.encode(key.bytes, keepsSlash: true))"
    }

    func url(path: String, query: String) -> String {
        "\(scheme)://\(authority)\(path)\(query.isEmpty ? "" : "?\(query)")"
    }
}
