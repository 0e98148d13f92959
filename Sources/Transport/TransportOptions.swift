import CCurl
package import Logging

/// Options for all requests of one transport.
package struct TransportOptions: Sendable {
    /// A PEM file with certificates to trust instead of the system's.
    package var caFile: String?
    package var userAgent = "apus"
    /// Whether to use HTTP/2 with servers that offer it over TLS; by default from libcurl 8.2 on.
    ///
    /// Older versions lose the answer of a server that refuses a request before it has the whole
    /// body, and then resets the stream.
    package var http2 = Self.isHTTP2Sound
    /// How many requests of a kind run concurrently to one host at first, and of all kinds except
    /// queries at most. Further requests wait in order of arrival.
    package var requestsPerHost = HostLimit.Bounds(start: 8, max: 64)
    /// The same for requests with short answers and without a body; nil for ``requestsPerHost``.
    package var queriesPerHost: HostLimit.Bounds? = .init(start: 8, max: 256, pace: .queries)
    /// How many bytes of all answers may wait for the disk.
    package var waitingBytesMax = 8 << 20
    /// The longest time without a byte in the body of a request, or in an answer with file content,
    /// including the wait for it.
    package var contentStallMax: Duration = .seconds(30)
    /// The time for which the connections of a burst stay open, once or twice, see ``ConnectionReserve``.
    package var burstTime: Duration = .seconds(2)
    /// Receives each answer, refusals included.
    package var onAnswer: @Sendable (HTTPResponse) -> Void = { _ in }
    /// The clock of the ``Bandwidth``.
    package var clock: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Logs each request at debug level, without secrets: no headers, no bodies, no query.
    package var logger = Logger(label: "transport", factory: { _ in SwiftLogNoOpLogHandler() })

    package init() {}

    /// Lets as many requests with bodies be in flight as have room for their buffers: libcurl's and one
    /// of ours for each.
    package mutating func limitRequests(bufferBytes: UInt64) {
        let count = Int(clamping: bufferBytes / UInt64(2 * BodyFeed.pieceBytes))
        requestsPerHost.max = max(requestsPerHost.start, min(requestsPerHost.max, count))
    }

    /// Leaves most of the descriptors that the process may have to others than queries.
    package mutating func limitQueries(descriptorsMax: UInt64) {
        guard let bounds = queriesPerHost else { return }
        let max = Swift.max(bounds.start, Swift.min(bounds.max, Int(clamping: descriptorsMax / 8)))
        queriesPerHost?.max = max
    }

    /// libcurl: `version_num`, a byte each for the three parts of the version.
    private static let isHTTP2Sound = apus_curl_version() >= 0x08_02_00
}
