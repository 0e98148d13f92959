import CCurl

extension EasyHandle {
    /// The size of libcurl's reads from a socket, for which each active handle has memory.
    private static func receivedBytes(_ request: HTTPRequest) -> Int {
        if request.answerBytes > 0 { return BodyFeed.pieceBytes }
        // Listings are longer than the answers to changes.
        return [.head, .put, .delete].contains(request.method) ? 16 << 10 : 64 << 10
    }

    /// The size of libcurl's reads from a body source. libcurl: at least 16 KiB.
    private static func sentBytes(_ bodyBytes: UInt64?) -> Int {
        max(16 << 10, Int(min(bodyBytes ?? 0, UInt64(BodyFeed.pieceBytes))))
    }
    /// The length from which a body waits for the server's approval (RFC 9110, 10.1.1).
    ///
    /// Sending a smaller one costs less than the wait: a round trip, or a second if a server or
    /// proxy never answers. A server that refuses before it has read a small body closes the
    /// connection.
    private static var expectBytes: UInt64 { 64 * 1024 }

    /// Sets the options of a request, except the callbacks.
    ///
    /// - Parameters:
    ///   - bodyBytes: Length of the body; nil if there is none.
    ///   - knownScheme: The authentication scheme of this host, if known from an earlier answer.
    /// - Returns: The first error.
    mutating func configure(
        _ request: HTTPRequest, bodyBytes: UInt64?, knownScheme: AuthenticationScheme?,
        options: TransportOptions
    ) -> CURLcode {
        var headers = request.headers
        var awaitsApproval = false
        if let bodyBytes, bodyBytes >= Self.expectBytes {
            awaitsApproval = request.awaitsApproval
            if case .negotiated = request.credentials, knownScheme == nil {
                awaitsApproval = true
                headers.append((name: "Expect", value: "100-continue"))
            }
        }
        var codes = [
            // A library on one of its threads must not change the process's signals.
            set(CURLOPT_NOSIGNAL, 1),
            set(CURLOPT_URL, request.url),
            // `..` may be a name, and the URL must be sent as it was signed.
            set(CURLOPT_PATH_AS_IS, 1),
            set(CURLOPT_PROTOCOLS_STR, "http,https"),
            set(CURLOPT_FOLLOWLOCATION, 0),
            set(CURLOPT_HTTP_VERSION, httpVersion(options)),
            set(CURLOPT_USERAGENT, options.userAgent),
            set(CURLOPT_FRESH_CONNECT, request.usesFreshConnection ? 1 : 0),
            set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.milliseconds),
            // A silent name server must not block the thread of all transfers.
            set(CURLOPT_QUICK_EXIT, 1),
            set(CURLOPT_TCP_KEEPALIVE, 1),
            set(CURLOPT_BUFFERSIZE, Self.receivedBytes(request)),
            set(CURLOPT_UPLOAD_BUFFERSIZE, Self.sentBytes(bodyBytes)),
            set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1),
            set(CURLOPT_SSL_VERIFYPEER, 1),
            set(CURLOPT_SSL_VERIFYHOST, 2),
            set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            setSocket(stallMax: options.contentStallMax),
            setHeaders(headers, suppressed: awaitsApproval ? [] : ["Expect"]),
        ]
        if let caFile = options.caFile {
            codes.append(set(CURLOPT_CAINFO, caFile))
        }
        if let path = request.unixSocketPath {
            // The environment's proxy is not for connections to a program on this machine.
            codes.append(set(CURLOPT_PROXY, ""))
            codes.append(set(CURLOPT_UNIX_SOCKET_PATH, path))
        }
        if let credentials = request.credentials {
            codes += configure(credentials, knownScheme: knownScheme)
        }
        codes += configure(request.method, bodyBytes: bodyBytes)
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }

    private func httpVersion(_ options: TransportOptions) -> Int {
        Int(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
    }

    private func configure(
        _ credentials: HTTPCredentials, knownScheme: AuthenticationScheme?
    ) -> [CURLcode] {
        switch credentials {
        case .basic(let user, let password), .negotiated(let user, let password):
            var schemes = apus_auth_basic
            // With Digest alone, libcurl would first send a change without its body, expecting a
            // refusal; a server that accepts it would then hold an empty file.
            if case .negotiated = credentials, knownScheme != .basic { schemes |= apus_auth_digest }
            return [
                set(CURLOPT_HTTPAUTH, schemes), set(CURLOPT_USERNAME, user),
                set(CURLOPT_PASSWORD, password),
            ]
        case .bearer(let token):
            return [
                set(CURLOPT_HTTPAUTH, apus_auth_bearer), set(CURLOPT_XOAUTH2_BEARER, token),
            ]
        }
    }

    private func configure(_ method: HTTPMethod, bodyBytes: UInt64?) -> [CURLcode] {
        if let bodyBytes {
            return [
                set(CURLOPT_UPLOAD, 1), set(CURLOPT_INFILESIZE_LARGE, offset: bodyBytes),
                set(CURLOPT_CUSTOMREQUEST, method.rawValue),
            ]
        }
        switch method {
        case .get: return [set(CURLOPT_HTTPGET, 1)]
        case .head: return [set(CURLOPT_NOBODY, 1)]
        default: return [set(CURLOPT_CUSTOMREQUEST, method.rawValue)]
        }
    }
}

/// How a host authenticates requests.
enum AuthenticationScheme: Sendable {
    case basic
    case digest

    /// - Parameter offered: `CURLINFO_HTTPAUTH_AVAIL`.
    init?(offered: Int) {
        if offered & apus_auth_digest != 0 {
            self = .digest
        } else if offered & apus_auth_basic != 0 {
            self = .basic
        } else {
            return nil
        }
    }
}

extension Duration {
    /// Rounded up, at least 1: to libcurl, 0 means no timeout.
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds) * 1000 + Int(fraction))
    }
}
