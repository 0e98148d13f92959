import CCurl

/// The version of libcurl, such as `libcurl/7.88.1`.
package enum CurlVersion {
    package static var text: String {
        String(String(cString: curl_version()).prefix { $0 != " " })
    }

    /// Whether requests use HTTP/2 if the server offers it.
    package static var usesHTTP2: Bool { TransportOptions().http2 }
}
