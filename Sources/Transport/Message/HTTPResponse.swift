/// What a server answered, without the body, which went to an ``HTTPBodySink``.
package struct HTTPResponse: Hashable, Sendable {
    /// 200 to 599.
    package let status: Int
    /// Those of this answer, not of one that came before it on the way.
    package let headers: HTTPHeaders

    package init(status: Int, headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.headers = headers
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// How long the server asks to be left alone, an hour at the most; nil where it does not say.
    /// RFC 9110: Retry-After.
    ///
    /// - Parameter now: Seconds since 1970, for a server that names a point in time.
    package func retryAfter(now: Int64) -> Duration? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : .seconds(min(seconds, Self.retryAfterMax))
        }
        return HTTPDate.seconds(text).map { .seconds(min(max(0, $0 - now), Self.retryAfterMax)) }
    }

    /// Who asks for more has made a mistake, and would keep a change from the cloud for years.
    private static let retryAfterMax: Int64 = 3_600
}
