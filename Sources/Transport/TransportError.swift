/// Why a transfer was not completed. A server's refusal is a response, not such an error.
package struct TransportError: Error {
    package enum Kind: Hashable, Sendable {
        /// No connection: nothing was sent.
        case unreachable
        /// The connection broke after it was made; whether the server acted is unknown.
        case interrupted
        /// One of the request's timeouts passed; whether the server acted is unknown.
        case timedOut
        /// The server's certificate is not trusted; nothing was sent.
        case tls
        /// The sink failed; ``TransportError/cause`` is its error.
        case sink
        /// The source failed; ``TransportError/cause`` is its error.
        case source
        /// The header or body of the answer is larger than accepted.
        case tooLarge
        /// The calling task was cancelled, or the transport has stopped.
        case cancelled
        /// The request is invalid, or the answer is not HTTP.
        case invalid
    }

    package let kind: Kind
    /// The request, without the query: `GET http://apus/v1/status`.
    package let attempt: String
    /// libcurl's message, after the name of the proxy if that failed.
    package let reason: String
    /// The system's error number (`ECONNREFUSED`); 0 if there is none.
    package let errorNumber: Int32
    /// The proxy, if that failed.
    package let proxy: EnvironmentProxy?
    /// The underlying error, for the log; never shown alone.
    package let cause: (any Error)?
    /// Whether only used connections were tried, and each broke before a line of the answer: most likely the
    /// server had closed it while it was idle. The request may be sent on a new one.
    var isOfDeadConnections = false

    package init(
        _ kind: Kind, attempt: String, reason: String, errorNumber: Int32 = 0,
        proxy: EnvironmentProxy? = nil, cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
        self.errorNumber = errorNumber
        self.proxy = proxy
        self.cause = cause
    }
}

extension TransportError: CustomStringConvertible {
    package var description: String { "\(attempt): \(reason)" }
}
