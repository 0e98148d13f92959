/// Evaluates redirects.
enum Redirect {
    /// Headers that another host may see, as they do not identify the user.
    private static let harmless: Set<String> = [
        "accept", "content-type", "depth", "if-match", "if-modified-since", "if-none-match",
        "if-range", "if-unmodified-since", "overwrite", "range",
    ]

    /// Returns the request to send next; nil if `response` is the final answer.
    static func next(after response: HTTPResponse, to request: HTTPRequest) -> HTTPRequest? {
        guard case .sameHostOrHTTPS(let max) = request.redirects, max > 0,
            let location = response.headers["location"],
            let old = URLParts(request.url),
            let new = URLParts(location, relativeTo: request.url),
            !new.hasUser, new.isHTTP, new.isSecure || new.origin == old.origin
        else { return nil }

        var next = request
        switch response.status {
        case 301, 302:
            guard request.method.isSafe else { return nil }
        case 303:
            next.method = request.method == .head ? .head : .get
            next.body = .none
        case 307, 308: break
        default: return nil
        }
        next.url = new.url
        next.redirects = .sameHostOrHTTPS(max: max - 1)
        if new.origin != old.origin {
            // The socket only replaces the first host.
            next.unixSocketPath = nil
            if !new.isUpgrade(of: old) {
                next.credentials = nil
                next.headers.removeAll { !harmless.contains($0.name.lowercased()) }
            }
        }
        return next
    }
}
