/// An HTTP request, with its time limits.
package struct HTTPRequest: Sendable {
    package var method: HTTPMethod
    /// Absolute, percent-encoded according to RFC 3986, and without credentials.
    package var url: String
    /// Sent as they are. Names are tokens, values contain no line ends.
    package var headers: [(name: String, value: String)]
    package var body: HTTPBody
    /// The expected length of an answer with file content; 0 for any other answer. Long answers do
    /// not delay short ones, see ``HTTPTransport``.
    package var answerBytes: UInt64 = 0
    /// Never logged, and never sent to another host than the URL's.
    package var credentials: HTTPCredentials?
    /// The socket to connect to instead of the URL's host, which is only sent as `Host`.
    package var unixSocketPath: String?
    /// Time limit for connecting, including name resolution and TLS.
    package var connectTimeout: Duration
    /// Time limit for the next byte in either direction, once the request has its turn; nil for
    /// none. File content (a body, or an answer with ``answerBytes``) may stall for at most
    /// ``TransportOptions/contentStallMax``, and the body of any other answer for at most a minute.
    package var stallTimeout: Duration?
    /// Time limit for the whole request, from the call to the last byte; nil for none.
    package var timeout: Duration?
    package var redirects: RedirectPolicy
    /// Whether a long body waits for the server's approval (RFC 9110, 10.1.1), which takes a round
    /// trip. Not needed if a refusal is unlikely, as for a further part of what was accepted.
    package var awaitsApproval = true
    /// Whether its body may be sent again, without notice, if a used connection is lost before a line of the
    /// answer. If not, the request ends as ``TransportError/Kind/interrupted``; it is still sent again if
    /// the server asks for that (401, 407, 417).
    package var mayRepeatBody = true
    /// Whether it waits for its turn among the requests to its host; otherwise it is sent at once.
    package var waitsForTurn = true
    /// Whether it gets a new connection. An idle one may be dead without a notice: the network path
    /// has changed. Once it is answered, later requests use no connection that was idle before.
    package var usesFreshConnection = false
    /// Called on the transport's thread with the number of body bytes sent and received, both
    /// ascending; and every few seconds with the same numbers while the request waits for its turn.
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

/// The method in the first line of a request.
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

    /// Whether the method changes nothing, so that a redirect of it may always be followed.
    var isSafe: Bool { [.get, .head, .options, .propfind, .report].contains(self) }
}

package enum HTTPCredentials: Sendable {
    /// Sent with the first request; over plain HTTP, the network can read it.
    case basic(user: String, password: String)
    /// Digest or Basic, as the server asks for; Digest if it accepts both.
    case negotiated(user: String, password: String)
    case bearer(String)
}

/// Whether redirects are followed.
package enum RedirectPolicy: Hashable, Sendable {
    /// A redirect is returned like any other answer.
    case none
    /// Follows at most `max` redirects, to the same host or to any by HTTPS, but never from HTTPS
    /// to HTTP.
    ///
    /// Another host is sent no credentials, and only headers that do not identify the user. A
    /// change is only redirected if the server requires the same method (307, 308). Any other
    /// redirect is returned like any other answer.
    case sameHostOrHTTPS(max: Int)
}

extension HTTPRequest {
    /// The reason why it is invalid; nil if it is valid.
    func fault(_ parts: URLParts?) -> String? {
        guard let parts else { return "the URL is malformed" }
        if !parts.isHTTP { return "the URL is neither http nor https" }
        if parts.hasUser { return "the URL contains credentials" }
        let names = [method.rawValue] + headers.map(\.name)
        if !names.allSatisfy(\.isToken) { return "a name contains a character that HTTP forbids" }
        if headers.contains(where: { $0.value.utf8.contains(where: Self.isLineEnd) }) {
            return "a header contains a line end"
        }
        if case .source(let source, let range) = body, range.upperBound > source.size {
            return "the body is longer than its source"
        }
        return nil
    }

    /// NUL ends a line in C.
    private static func isLineEnd(_ byte: UInt8) -> Bool {
        byte == 0x0D || byte == 0x0A || byte == 0
    }
}

extension String {
    /// RFC 9110: token.
    fileprivate var isToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: Self.tokenMarks.utf8.contains(byte)
                }
            }
    }

    private static let tokenMarks = "!#$%&'*+-.^_`|~"
}
