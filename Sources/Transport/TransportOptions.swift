import CCurl
package import Logging

/// What holds for every request of one transport.
package struct TransportOptions: Sendable {
    /// A PEM file with the certificates that are trusted instead of the system's.
    package var caFile: String?
    package var userAgent = "apus"
    /// Whether HTTP/2 is spoken with servers that offer it over TLS.
    ///
    /// By default from libcurl 8.2 on. Older ones lose the answer of a server that refuses a request
    /// before it has all of its body, and then resets the stream.
    package var http2 = Self.isHTTP2Sound
    /// How many requests of a kind run side by side to one host, and of all kinds at the most; the
    /// rest wait, first come, first served.
    package var requestsPerHost = HostLimit.Bounds(start: 4, max: 32)
    /// Hears of every request at trace level, and of failed ones at debug level; never of secrets.
    package var logger = Logger(label: "transport", factory: { _ in SwiftLogNoOpLogHandler() })

    package init() {}

    /// libcurl: `version_num`, a byte each for the three parts of the version.
    private static let isHTTP2Sound = apus_curl_version() >= 0x08_02_00
}
