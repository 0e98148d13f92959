import CCurl

/// A URL as libcurl parses it, so that all code agrees on where a request goes.
struct URLParts {
    let url: String
    /// The URL without query, fragment and credentials, for messages and logs.
    let shown: String
    /// Scheme, host and port in normalised form.
    let origin: String
    let hasUser: Bool
    private let scheme: String
    private let host: String
    private let port: String

    /// - Parameter base: The URL to resolve a relative `reference` against.
    /// - Returns: nil if `reference` is not a URL.
    init?(_ reference: String, relativeTo base: String? = nil) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        for text in [base, reference].compactMap(\.self) {
            guard curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK else { return nil }
        }
        guard let url = Self.part(CURLUPART_URL, of: handle),
            let scheme = Self.part(CURLUPART_SCHEME, of: handle)
        else { return nil }
        self.url = url
        self.scheme = scheme.lowercased()
        host = (Self.part(CURLUPART_HOST, of: handle) ?? "").lowercased()
        port = Self.part(CURLUPART_PORT, of: handle, flags: UInt32(CURLU_DEFAULT_PORT)) ?? ""
        origin = "\(self.scheme)://\(host):\(port)"
        hasUser =
            Self.part(CURLUPART_USER, of: handle) != nil
            || Self.part(CURLUPART_PASSWORD, of: handle) != nil
        for secret in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT] {
            curl_url_set(handle, secret, nil, 0)
        }
        shown = Self.part(CURLUPART_URL, of: handle) ?? origin
    }

    var isHTTP: Bool { scheme == "http" || scheme == "https" }
    var isSecure: Bool { scheme == "https" }

    /// Whether this is the same host by HTTPS, both on their standard ports, which belong to the
    /// same operator.
    func isUpgrade(of other: Self) -> Bool {
        host == other.host && other.scheme == "http" && other.port == "80" && isSecure
            && port == "443"
    }

    private static func part(
        _ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0
    ) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
