/// What to ask of a server.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// Absolute, with everything percent-encoded that RFC 3986 wants so, and without credentials.
    package var url: String
    /// Sent as they are. Names are tokens, values hold no line ends.
    package var headers: [(name: String, value: String)]
    package var body: HTTPBody
    /// How long the body of the answer will be where that is file content; else 0. What is long
    /// does not hold up what is short, see ``HTTPTransport``.
    package var answerBytes: UInt64 = 0
    /// Who asks. Never logged, and never sent to another host than the URL's.
    package var credentials: HTTPCredentials?
    /// Where to connect instead of the URL's host and port; the URL's host goes into `Host` only.
    package var unixSocketPath: String?
    /// How long the connection may take, with resolving the name and TLS.
    package var connectTimeout: Duration
    /// How long it may take until the next byte goes out or comes in; nil for as long as it takes.
    /// Within the body of an answer, a minute at the most.
    package var stallTimeout: Duration?
    /// How long everything may take, from the call to the last byte; nil for as long as it takes.
    package var timeout: Duration?
    package var redirects: RedirectPolicy
    /// Told on the transport's thread how many bytes of the bodies went out and came in, both
    /// ascending; and the same once more, every few seconds, while the request has to wait for its
    /// turn, which is no fault of the server's.
    package var onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)?

    package typealias Method = HTTPMethod

    package init(
        _ method: Method, _ url: String, headers: [(name: String, value: String)] = [],
        body: HTTPBody = .none, credentials: HTTPCredentials? = nil,
        unixSocketPath: String? = nil, connectTimeout: Duration = .seconds(10),
        stallTimeout: Duration? = .seconds(30), timeout: Duration? = nil,
        redirects: RedirectPolicy = .none,
        onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.credentials = credentials
        self.unixSocketPath = unixSocketPath
        self.connectTimeout = connectTimeout
        self.stallTimeout = stallTimeout
        self.timeout = timeout
        self.redirects = redirects
        self.onProgress = onProgress
    }
}

/// What a request does, as it stands in its first line.
package struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let get = Self(rawValue: "GET")
    package static let head = Self(rawValue: "HEAD")
    package static let put = Self(rawValue: "PUT")
    package static let post = Self(rawValue: "POST")
    package static let patch = Self(rawValue: "PATCH")
    package static let delete = Self(rawValue: "DELETE")
    package static let options = Self(rawValue: "OPTIONS")
    // WebDAV: RFC 4918, RFC 3253.
    package static let propfind = Self(rawValue: "PROPFIND")
    package static let proppatch = Self(rawValue: "PROPPATCH")
    package static let mkcol = Self(rawValue: "MKCOL")
    package static let move = Self(rawValue: "MOVE")
    package static let copy = Self(rawValue: "COPY")
    package static let lock = Self(rawValue: "LOCK")
    package static let unlock = Self(rawValue: "UNLOCK")
    package static let report = Self(rawValue: "REPORT")

    /// Whether it changes nothing, so that it may be sent to another place as well.
    var isSafe: Bool { [.get, .head, .options, .propfind, .report].contains(self) }
}

package enum HTTPCredentials: Sendable {
    /// Sent with the first request; over plain HTTP anybody on the way can read it.
    case basic(user: String, password: String)
    /// Digest or Basic, whichever the server asks for, Digest if it takes both.
    case negotiated(user: String, password: String)
    case bearer(String)
}

/// Whether an answer that names another place is followed there.
package enum RedirectPolicy: Hashable, Sendable {
    /// It is an answer like any other.
    case none
    /// At most `max` times, to the same host or to any by HTTPS, but never from HTTPS to HTTP.
    ///
    /// Another host is sent no credentials, and of the headers only those that say nothing about
    /// who asks. A change is sent to another place only if the server says that the method must
    /// stay (307, 308). What this does not allow is an answer like any other.
    case sameHostOrHTTPS(max: Int)
}
