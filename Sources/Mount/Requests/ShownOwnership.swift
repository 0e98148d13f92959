import CFuse
package import Engine
import Glibc

/// The owner and the permissions that files of the remote are shown with, where the user asks for others than
/// those that are stored.
package struct ShownOwnership: Sendable {
    /// The permission bits of remote objects without a mode, see `EngineConfiguration`.
    private static let filePermissions: mode_t = 0o644
    private static let directoryPermissions: mode_t = 0o755

    /// The owner of remote objects: the user who mounts.
    private let stored: Caller
    /// Shown in the place of that user; nil for no other one.
    package var userID: UInt32?
    package var groupID: UInt32?
    /// The permission bits that nothing has. A mode that is the usual one of remote objects is shown as
    /// all others.
    package var umask: UInt32?

    package init(stored: Caller = Caller(userID: getuid(), groupID: getgid())) {
        self.stored = stored
    }

    func apply(to status: inout stat) {
        if let userID, status.st_uid == stored.userID { status.st_uid = userID }
        if let groupID, status.st_gid == stored.groupID { status.st_gid = groupID }
        guard let umask else { return }
        let permissions = status.st_mode & 0o777
        switch status.st_mode & S_IFMT {
        case S_IFREG where permissions == Self.filePermissions: status.st_mode |= 0o666
        case S_IFDIR where permissions == Self.directoryPermissions: status.st_mode |= 0o777
        case S_IFLNK: return
        default: break
        }
        status.st_mode &= ~umask
    }
}
