/// Why a transfer did not come to its end. A server's refusal is no such error but a response.
package struct TransportError: Error {
    package enum Kind: Hashable, Sendable {
        /// No connection: nothing was sent.
        case unreachable
        /// The connection broke after it stood; whether the server acted is unknown.
        case interrupted
        /// One of the request's timeouts passed; whether the server acted is unknown.
        case timedOut
        /// The server's certificate is not to be trusted; nothing was sent.
        case tls
        /// The sink refused the bytes; ``TransportError/cause`` says why.
        case sink
        /// The source gave no bytes; ``TransportError/cause`` says why.
        case source
        /// The answer is larger than asked for or than we take: its body or its header.
        case tooLarge
        /// The calling task was cancelled, or the transport has stopped.
        case cancelled
        /// The request makes no sense to libcurl, or its answer is no HTTP.
        case invalid
    }

    package let kind: Kind
    /// What was attempted: `GET http://apus/v1/status`, without the query.
    package let attempt: String
    /// libcurl's own words, and before them the proxy where that is what failed.
    package let reason: String
    /// The system's error number underneath (`ECONNREFUSED`), 0 where there is none.
    package let errorNumber: Int32
    /// The proxy that it failed at, if it was one.
    package let proxy: EnvironmentProxy?
    /// The failure underneath, for the log; never shown alone.
    package let cause: (any Error)?

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
