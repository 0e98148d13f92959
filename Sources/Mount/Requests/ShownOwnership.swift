import CFuse
package import Engine
import Glibc

/// The owner and the permissions that files of the remote are shown with, where the user asks for others than
/// those that are stored.
package struct ShownOwnership: Sendable {
    /// The owner of remote objects: the user who mounts.
    private let stored: Caller
    /// Shown in the place of that user; nil for no other one.
    package var userID: UInt32?
    package var groupID: UInt32?
    /// The permission bits that nothing has, except symbolic links.
    package var umask: UInt32?

    package init(stored: Caller = Caller(userID: geteuid(), groupID: getegid())) {
        self.stored = stored
    }

    func apply(to status: inout stat) {
        if let userID, status.st_uid == stored.userID { status.st_uid = userID }
        if let groupID, status.st_gid == stored.groupID { status.st_gid = groupID }
        guard let umask, status.st_mode & S_IFMT != S_IFLNK else { return }
        status.st_mode &= ~umask
    }
}
