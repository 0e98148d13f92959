/// Why a folder could not be mounted, unmounted or served.
package struct MountError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The kernel's FUSE device does not exist.
        case deviceMissing
        /// The permission to open the device is missing.
        case deviceDenied
        /// `fusermount3` is not installed; ordinary users need it.
        case helperMissing
        /// The mount is in use.
        case busy
        /// `/etc/fuse.conf` does not let ordinary users share a mount.
        case sharingDenied
        /// The kernel, libfuse or fusermount3 refused for another reason.
        case refused
    }

    package let kind: Kind
    /// The failed action with its values: `cannot mount on /mnt/cloud`.
    package let attempt: String
    package let reason: String
    /// Advice for the user, or nil if there is none.
    package let remedy: String?

    init(_ kind: Kind, _ attempt: String, reason: String, remedy: String? = nil) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
        self.remedy = remedy
    }

    /// One line for users.
    package var description: String {
        "\(attempt): \(reason)" + (remedy.map { "; \($0)" } ?? "")
    }
}
