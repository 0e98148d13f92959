import CCurl

/// The way HTTP writes a point in time. RFC 9110: HTTP-date, in all its three forms.
package enum HTTPDate {
    /// - Returns: Seconds since 1970; nil where the text is no date.
    package static func seconds(_ text: String) -> Int64? {
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Int64(seconds)
    }
}
