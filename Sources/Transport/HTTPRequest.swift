/// What to ask of a server.
package struct HTTPRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
    }

    package var method: Method
    /// Absolute, with everything percent-encoded that RFC 3986 wants so.
    package var url: String
    package var headers: [(name: String, value: String)]
    /// Sent whole with a `POST`; a `GET` has none.
    package var body: [UInt8]
    /// Where to connect instead of the URL's host and port; the URL's host goes into `Host` only.
    package var unixSocketPath: String?
    /// How long the connection may take.
    package var connectTimeout: Duration
    /// How long everything may take, to the last byte; nil for as long as it takes.
    package var timeout: Duration?

    package init(
        _ method: Method, _ url: String, headers: [(name: String, value: String)] = [],
        body: [UInt8] = [], unixSocketPath: String? = nil, connectTimeout: Duration = .seconds(10),
        timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.unixSocketPath = unixSocketPath
        self.connectTimeout = connectTimeout
        self.timeout = timeout
    }
}
