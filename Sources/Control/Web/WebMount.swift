import FoundationEssentials

/// A mount that the page shows.
package struct WebMount: Sendable {
    /// Absolute, without symbolic links.
    package let mountPoint: String
    /// The control socket of its daemon.
    package let socketPath: String

    package init(mountPoint: String, socketPath: String) {
        self.mountPoint = mountPoint
        self.socketPath = socketPath
    }

    /// The name in URLs: the mount point in base64url (RFC 4648), so that it stays over restarts.
    var id: String {
        Data(mountPoint.utf8).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// The mounts as the page receives them.
struct WebMountList: Codable, Hashable {
    struct Mount: Codable, Hashable {
        var id: String
        var mountPoint: String
    }

    var mounts: [Mount]
}
