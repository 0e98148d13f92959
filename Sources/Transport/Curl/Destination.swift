/// Where a request goes, for limits and for error messages.
struct Destination {
    /// `GET https://host/path`.
    let attempt: String
    /// The origin whose ``HostLimit`` applies; nil if there is none, as for our own daemon, or for a
    /// request that does not wait for its turn.
    let limitedHost: String?
    /// The proxy that the environment names for such requests; ignores `no_proxy`.
    private let proxy: EnvironmentProxy?

    init(_ request: HTTPRequest, _ parts: URLParts?) {
        attempt = "\(request.method.rawValue) \(parts?.shown ?? "(no URL)")"
        let isRemote = request.unixSocketPath == nil
        limitedHost = isRemote && request.waitsForTurn ? parts?.origin : nil
        proxy = isRemote ? parts.flatMap { EnvironmentProxy(for: $0) } : nil
    }

    func error(
        _ kind: TransportError.Kind, _ reason: String, errorNumber: Int32 = 0,
        cause: (any Error)? = nil
    ) -> TransportError {
        TransportError(
            kind, attempt: attempt, reason: reason, errorNumber: errorNumber, cause: cause)
    }

    /// An error that libcurl reports, which may be the proxy's.
    func connectionError(
        _ kind: TransportError.Kind, _ reason: String, errorNumber: Int32
    ) -> TransportError {
        guard let proxy, proxy.isMeant(by: reason) else {
            return error(kind, reason, errorNumber: errorNumber)
        }
        return TransportError(
            kind, attempt: attempt,
            reason: "the proxy \(proxy.address) (\(proxy.variable)) failed: \(reason)",
            errorNumber: errorNumber, proxy: proxy)
    }
}
