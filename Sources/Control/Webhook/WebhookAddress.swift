/// The address at which notifications are taken.
package struct WebhookAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int

    /// - Parameter text: `HOST:PORT`, with an IPv6 address in brackets.
    /// - Returns: nil if it is in another form, or the port is not 1 to 65535.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = Int(text[text.index(after: colon)...]), (1...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        (self.host, self.port) = (String(host), port)
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
