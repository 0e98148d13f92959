import Glibc

/// Why a state directory cannot be had.
package struct StateDirectoryError: Error, CustomStringConvertible {
    package enum Kind: Error, Hashable {
        /// Another process has it; nil if that process has not said yet who it is.
        case held(by: StateDirectory.Holder?)
        /// It belongs to this user id, which is not ours.
        case foreign(owner: UInt32)
        /// It holds this, which is none of ours, and no database.
        case occupied(by: String)
        /// Its permission bits let others in.
        case exposed(mode: UInt16)
        /// There is no home directory to put the default one in.
        case homeless
        /// The name is not one that a directory can have.
        case badName
        /// The system refused, with this `errno`.
        case system(Int32)
    }

    package let kind: Kind
    /// What was attempted, with its values: `use the state directory "/var/lib/apus/photos"`.
    package let attempt: String
    package let reason: String
    /// What the user can do.
    package let remedy: String

    init(_ kind: Kind, path: String) {
        self.kind = kind
        attempt = "use the state directory \"\(path)\""
        switch kind {
        case .held(let holder?) where holder.isChecking:
            reason = "process \(holder.processID) is checking it"
            remedy = "wait until that is done"
        case .held(let holder?) where holder.isEnding:
            reason = "process \(holder.processID) was killed, and is not gone yet"
            remedy = "wait until its disk has written all of it"
        case .held(let holder?):
            reason = "process \(holder.processID) has it for \"\(holder.mountPoint)\""
            remedy = "unmount that one first (apus unmount \"\(holder.mountPoint)\")"
        case .held(nil):
            reason = "another process has just taken it"
            remedy = "try again, or choose another one with --state-dir"
        case .foreign(let owner):
            reason = "it belongs to user \(owner), not to user \(geteuid())"
            remedy = "run as that user, or choose another one with --state-dir"
        case .occupied(let name):
            reason = "it holds other things, such as \"\(name)\", and no state of a mount"
            remedy = "choose an empty directory, or one that is not there yet, with --state-dir"
        case .exposed(let mode):
            reason = "others may enter it (mode 0\(String(mode, radix: 8)))"
            remedy = "close it with: chmod 700 \"\(path)\""
        case .homeless:
            reason = "neither XDG_STATE_HOME nor HOME is set to an absolute path"
            remedy = "choose one with --state-dir"
        case .badName:
            reason = "no directory can have that name"
            remedy = "choose one with --state-dir"
        case .system(let code):
            reason = SystemError(code).reason
            remedy = Self.remedy(for: code)
        }
    }

    private static func remedy(for code: Int32) -> String {
        switch code {
        case ENOSPC, EDQUOT: "free some space, or choose one elsewhere with --state-dir"
        case EACCES, EPERM: "ask its owner for access, or choose one elsewhere with --state-dir"
        case EROFS: "choose one on a writable file system with --state-dir"
        case ENOTDIR, EEXIST, ELOOP: "move away the file that is in its place"
        default: "choose one elsewhere with --state-dir"
        }
    }

    /// One line for the user.
    package var description: String { "cannot \(attempt): \(reason); \(remedy)" }
}
