import Glibc
import SystemCalls

/// The reason why a state directory cannot be used.
package struct StateDirectoryError: Error, CustomStringConvertible {
    package enum Kind: Error, Hashable {
        /// Another process holds it; nil if that process has not written its id yet.
        case held(by: StateDirectory.Holder?)
        /// It belongs to another user, with this id.
        case foreign(owner: UInt32)
        /// It has no database but a file with this name, which is not part of a state.
        case occupied(by: String)
        /// Its mode gives access to other users.
        case exposed(mode: UInt16)
        /// There is no home directory for the default state directory.
        case homeless
        /// The name is not a valid directory name.
        case badName
        /// A system call failed with this `errno`.
        case system(Int32)
    }

    package let kind: Kind
    /// The attempted operation with its values: `use the state directory "/var/lib/apus/photos"`.
    package let attempt: String
    package let reason: String
    /// Advice for the user.
    package let remedy: String

    init(_ kind: Kind, path: String) {
        self.kind = kind
        attempt = "use the state directory \"\(path)\""
        switch kind {
        case .held(let holder?) where holder.isChecking:
            reason = "process \(holder.processID) is checking it"
            remedy = "wait until the check ends"
        case .held(let holder?) where holder.isEnding:
            reason = "process \(holder.processID) was killed but has not ended yet"
            remedy = "wait until its last writes are on the disk"
        case .held(let holder?):
            reason = "process \(holder.processID) uses it for \"\(holder.mountPoint)\""
            remedy = "unmount that folder first (apus unmount \"\(holder.mountPoint)\")"
        case .held(nil):
            reason = "another process has just taken it"
            remedy = "try again, or choose another directory with --state-dir"
        case .foreign(let owner):
            reason = "it belongs to user \(owner), not to user \(geteuid())"
            remedy = "run as that user, or choose another directory with --state-dir"
        case .occupied(let name):
            reason = "it holds other files, such as \"\(name)\", and not the state of a mount"
            remedy = "choose an empty or a new directory with --state-dir"
        case .exposed(let mode):
            reason = "other users have access to it (mode 0\(String(mode, radix: 8)))"
            remedy = "restrict it with: chmod 700 \"\(path)\""
        case .homeless:
            reason = "neither XDG_STATE_HOME nor HOME is set to an absolute path"
            remedy = "choose a directory with --state-dir"
        case .badName:
            reason = "the name is not valid"
            remedy = "choose a directory with --state-dir"
        case .system(let code):
            reason = SystemError(code).description
            remedy = Self.remedy(for: code)
        }
    }

    private static func remedy(for code: Int32) -> String {
        switch code {
        case ENOSPC, EDQUOT:
            "free some space, or choose a directory on another disk with --state-dir"
        case EACCES, EPERM: "ask its owner for access, or choose another directory with --state-dir"
        case EROFS: "choose a directory on a writable file system with --state-dir"
        case ENOTDIR, EEXIST, ELOOP: "move away the file of that name"
        default: "choose another directory with --state-dir"
        }
    }

    /// One line for the user.
    package var description: String { "cannot \(attempt): \(reason); \(remedy)" }
}
