import Engine

/// Where a WebDAV collection is, and the URLs of what lies below it.
struct WebDAVAddress: Hashable, Sendable {
    let isSecure: Bool
    /// Lower case, as it stands in a URL: an IPv6 address in brackets.
    let host: String
    /// nil for that of the scheme.
    let port: UInt16?
    /// The components of the path, decoded; neither empty nor `.` or `..`.
    let path: [[UInt8]]

    /// `https://host:port`, without a slash at the end.
    var origin: String {
        (isSecure ? "https://" : "http://") + host + (port.map { ":\($0)" } ?? "")
    }

    /// The whole URL of the collection, with a slash at its end.
    var url: String { url(.root, isCollection: true) }

    /// - Parameter isCollection: Whether to end it in a slash, as servers want it of collections
    ///   (RFC 4918, 5.2).
    func url(_ key: ObjectKey, isCollection: Bool = false) -> String {
        url(path + key.names.map(\.bytes), isCollection: isCollection)
    }

    /// A URL on the same server.
    func url(_ components: [[UInt8]], isCollection: Bool = false) -> String {
        let path = components.map { "/" + PercentCoding.encode($0) }.joined()
        return origin + path + (isCollection || path.isEmpty ? "/" : "")
    }

    /// Where Nextcloud and ownCloud take uploads of the user whose files these are:
    /// `…/remote.php/dav/uploads/USER`. nil for other paths.
    var uploads: [[UInt8]]? {
        let way = ["remote.php", "dav", "files"].map { Array($0.utf8) }
        guard let start = path.indices.first(where: { path[$0...].starts(with: way) }),
            path.count > start + way.count
        else { return nil }
        return Array(path[..<(start + 2)]) + [Array("uploads".utf8), path[start + way.count]]
    }

    /// What an href of a multistatus points at, told from `key`.
    enum Place: Equatable {
        case itself
        case child(FileName)
        /// A child whose name no file system can have: with a slash or NUL in it, or too long.
        case oddChild
        /// Not the resource, and no child of it.
        case elsewhere
    }

    /// Resolves an href. Only its path counts: servers behind proxies call themselves many names.
    func place(of href: String, from key: ObjectKey) -> Place {
        guard let components = Self.components(of: href) else { return .elsewhere }
        let own = path + key.names.map(\.bytes)
        guard components.count <= own.count + 1, components.starts(with: own) else {
            return .elsewhere
        }
        if components.count == own.count { return .itself }
        guard let last = components.last, let name = FileName(last) else { return .oddChild }
        return .child(name)
    }

    /// The decoded components of the path of a URL or an absolute path; nil where it is neither.
    static func components(of href: String) -> [[UInt8]]? {
        var text = href[...]
        let scheme = text.prefix { $0 != "/" }
        if scheme.hasSuffix(":"), text.dropFirst(scheme.count).hasPrefix("//") {
            text = text.dropFirst(scheme.count + 2).drop { $0 != "/" }
        }
        guard text.isEmpty || text.hasPrefix("/") else { return nil }
        text = text.prefix { $0 != "?" && $0 != "#" }
        var components: [[UInt8]] = []
        for part in text.split(separator: "/") {
            guard let bytes = PercentCoding.decode(part) else { return nil }
            // A server that climbs is not followed.
            if bytes == [0x2E] || bytes == [0x2E, 0x2E] { return nil }
            components.append(bytes)
        }
        return components
    }
}
