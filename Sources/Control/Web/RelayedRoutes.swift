/// The routes of the control API that the page may use; all others, such as `unmount`, are not passed on.
enum RelayedRoutes {
    private static let queries: Set = [
        "about", "status", "status/watch", "changes", "list", "pins",
    ]
    private static let commands: Set = [
        "sync", "evict", "refresh", "pin", "unpin", "download", "resolve", "confirm-deletions",
        "reject-deletions",
    ]

    /// How long the daemon may be silent before it answers; nil for requests that may take any time.
    static func stallTimeout(_ route: String) -> Duration? {
        ["about", "status", "pins"].contains(route) ? .seconds(30) : nil
    }

    /// - Parameters:
    ///   - method: As in the first line of the request.
    ///   - route: The path after `/v1/`.
    static func allow(_ method: String, _ route: String) -> Bool {
        switch method {
        case "GET": queries.contains(route)
        case "POST": commands.contains(route)
        default: false
        }
    }
}
