import Glibc

/// Whether the kernel reads whole local files by itself, without requests. Linux: FUSE passthrough.
package enum Lending: Hashable, Sendable {
    case used
    case unused(Obstacle)

    package enum Obstacle: Hashable, Sendable {
        /// Programs may write, see `docs/decisions/029-passthrough.md`.
        case writable
        /// The kernel has no passthrough.
        case kernel
        /// This version of libfuse does not let us ask for it.
        case library
        /// The daemon may not administer the system.
        case privilege
        /// The file system of the state directory does not allow it.
        case fileSystem
    }
}

extension Lending.Obstacle {
    /// The obstacle that holds in all mounts of this kernel and these privileges.
    static var ofMachine: Self? {
        if !KernelRelease.running.hasPassthrough { return .kernel }
        return Privileges.administersSystem ? nil : .privilege
    }

    /// - Parameter errno: The kernel's answer to the offer of a file.
    /// - Returns: nil if it may accept another file.
    init?(refusal errno: CInt) {
        switch errno {
        // Also of a root user who is one in a container only.
        case EPERM: self = .privilege
        case ENOTTY, EOPNOTSUPP: self = .kernel
        // A file system that is stacked on others, or has special files.
        case ELOOP, EINVAL, EBADF: self = .fileSystem
        default: return nil
        }
    }
}
