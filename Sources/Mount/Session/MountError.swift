/// Why a folder could not be mounted, unmounted or served.
package struct MountError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The kernel's FUSE device is not there.
        case deviceMissing
        /// The device may not be opened.
        case deviceDenied
        /// `fusermount3` is not installed; ordinary users need it.
        case helperMissing
        /// The mount is in use.
        case busy
        /// `/etc/fuse.conf` does not let ordinary users share a mount.
        case sharingDenied
        /// The kernel, libfuse or fusermount3 refused for a reason of their own.
        case refused
    }

    package let kind: Kind
    /// What was attempted, with its values: `cannot mount on /mnt/cloud`.
    package let attempt: String
    package let reason: String
    /// What the user can do, or nil when nothing helps.
    package let remedy: String?

    init(_ kind: Kind, _ attempt: String, reason: String, remedy: String? = nil) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
        self.remedy = remedy
    }

    /// One line for people.
    package var description: String {
        "\(attempt): \(reason)" + (remedy.map { "; \($0)" } ?? "")
    }
}
