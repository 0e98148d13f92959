import CCurl

/// Parses dates in all three forms of HTTP. RFC 9110: HTTP-date.
package enum HTTPDate {
    /// - Returns: Seconds since 1970; nil if the text is not a date.
    package static func seconds(_ text: String) -> Int64? {
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Int64(seconds)
    }
}
