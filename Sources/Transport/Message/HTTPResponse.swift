/// A server's answer without its body, which an ``HTTPBodySink`` receives.
package struct HTTPResponse: Hashable, Sendable {
    /// 200 to 599.
    package let status: Int
    /// The headers of this answer, without those of interim answers.
    package let headers: HTTPHeaders

    package init(status: Int, headers: HTTPHeaders = HTTPHeaders()) {
        self.status = status
        self.headers = headers
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// Returns how long the server asks to wait, at most an hour; nil if it does not ask.
    /// RFC 9110: Retry-After.
    ///
    /// - Parameter now: Seconds since 1970, as the server may name a point in time.
    package func retryAfter(now: Int64) -> Duration? {
        guard let text = headers["retry-after"] else { return nil }
        if let seconds = Int64(text) {
            return seconds < 0 ? nil : .seconds(min(seconds, Self.retryAfterMax))
        }
        return HTTPDate.seconds(text).map { .seconds(min(max(0, $0 - now), Self.retryAfterMax)) }
    }

    /// A longer wait is a server's mistake, and could delay an upload for years.
    private static let retryAfterMax: Int64 = 3_600
}
