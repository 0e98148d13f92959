import Engine
import SystemCalls

/// The address of a WebDAV collection, and the URLs of the resources below it.
struct WebDAVAddress: Hashable, Sendable {
    let isSecure: Bool
    /// In lower case; an IPv6 address is in brackets.
    let host: String
    /// nil for the default of the scheme.
    let port: UInt16?
    /// The components of the path, decoded; neither empty nor `.` or `..`.
    let path: [[UInt8]]

    /// `https://host:port`, without a slash at the end.
    var origin: String {
        (isSecure ? "https://" : "http://") + host + (port.map { ":\($0)" } ?? "")
    }

    /// The URL of the collection, with a slash at its end.
    var url: String { url(.root, isCollection: true) }

    /// - Parameter isCollection: Whether it ends in a slash, as URLs of collections should (RFC 4918, 5.2).
    func url(_ key: ObjectKey, isCollection: Bool = false) -> String {
        url(path + key.names.map(\.bytes), isCollection: isCollection)
    }

    /// Returns a URL on the same server.
    func url(_ components: [[UInt8]], isCollection: Bool = false) -> String {
        let path = components.map { "/" + PercentCoding.encode($0) }.joined()
        return origin + path + (isCollection || path.isEmpty ? "/" : "")
    }

    /// The path for chunked uploads of the user whose files these are, on Nextcloud and ownCloud:
    /// `…/remote.php/dav/uploads/USER`; nil for other paths.
    var uploads: [[UInt8]]? {
        let way = ["remote.php", "dav", "files"].map { Array($0.utf8) }
        guard let start = path.indices.first(where: { path[$0...].starts(with: way) }),
            path.count > start + way.count
        else { return nil }
        return Array(path[..<(start + 2)]) + [Array("uploads".utf8), path[start + way.count]]
    }

    /// Whether a program in PHP serves it, such as Nextcloud's `remote.php` and `public.php`.
    var isPHP: Bool { path.contains { $0.suffix(4).elementsEqual(".php".utf8) } }

    /// The target of an href in a multistatus, relative to a key.
    enum Place: Equatable {
        case itself
        case child(FileName)
        /// A child with an invalid name: one with a slash or NUL, or one that is too long.
        case oddChild
        /// Neither the resource nor a child of it.
        case elsewhere
    }

    /// Resolves an href. Only its path counts, since servers behind proxies use various host names.
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

    /// Returns the decoded path components of a URL or an absolute path; nil if it is neither.
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
            // Never leave the collection.
            if bytes == [0x2E] || bytes == [0x2E, 0x2E] { return nil }
            components.append(bytes)
        }
        return components
    }
}
