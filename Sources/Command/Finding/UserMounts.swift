import Control
import Foundation

/// The mounts of the user who runs the command.
enum UserMounts {
    /// Finds them in the kernel's table, and their sockets by the label of each: no mount is asked, as one whose
    /// daemon hangs would not answer.
    static func current() throws(ControlError) -> [WebMount] {
        try MountTable.current().apusMounts
            .filter { $0.userID == nil || $0.userID == geteuid() }
            .compactMap { entry in
                let label = MountLabel(parsing: entry.source, userID: entry.userID)
                return label.stateDirectory.map {
                    WebMount(
                        mountPoint: entry.mountPoint, socketPath: "\($0)/\(SocketPath.name)")
                }
            }
    }
}
