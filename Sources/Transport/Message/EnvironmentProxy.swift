import Glibc

/// A proxy that the environment names, without its credentials.
package struct EnvironmentProxy: Hashable, Sendable {
    /// `https_proxy`.
    package let variable: String
    /// `http://host:port`.
    package let address: String
    private let host: String
    private let port: String

    /// The proxy that libcurl uses for a URL unless `no_proxy` excludes it; nil for none.
    init?(for url: URLParts) {
        // HTTP_PROXY is not among them: a client of a CGI program can set it.
        let names = url.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        let found = (names + ["all_proxy", "ALL_PROXY"]).lazy.compactMap { name in
            getenv(name).map { (name: name, text: String(cString: $0)) }
        }.first { !$0.text.isEmpty }
        guard let found else { return nil }
        let scheme = found.text.firstRange(of: "://").map { found.text[..<$0.lowerBound] } ?? "http"
        var rest =
            found.text.firstRange(of: "://").map { found.text[$0.upperBound...] }
            ?? found.text[...]
        // A password may contain any character, and none of it may remain.
        if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
        let place = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        variable = found.name
        address = "\(scheme)://\(place)"
        let colon = place.last == "]" ? nil : place.lastIndex(of: ":")
        host = place[..<(colon ?? place.endIndex)].filter { $0 != "[" && $0 != "]" }
        // libcurl's own defaults.
        port =
            colon.map { String(place[place.index(after: $0)...]) }
            ?? (scheme == "https" ? "443" : "1080")
    }

    /// Whether libcurl's error message is about this proxy.
    func isMeant(by reason: String) -> Bool {
        ["\(host) port \(port)", "resolve proxy", "CONNECT tunnel", "SOCKS"].contains {
            reason.contains($0)
        }
    }
}
