import Glibc
import SystemCalls

/// Checks the requirements of a mount on the machine before libfuse mounts.
package enum Prerequisites {
    package static var isRoot: Bool { geteuid() == 0 }

    static func check(_ options: MountOptions, attempt: String) throws(MountError) {
        try checkDevice(attempt)
        guard !isRoot else { return }
        try checkHelper(attempt)
        if options.allowsOthers { try checkSharing(attempt) }
    }

    /// Also ordinary users need the permission: fusermount3 opens the device as the user who calls it.
    package static func checkDevice(_ attempt: String) throws(MountError) {
        let device = open("/dev/fuse", O_RDWR | O_CLOEXEC)
        if device >= 0 {
            close(device)
            return
        }
        switch errno {
        case ENOENT, ENODEV, ENXIO: throw MountError.missingDevice(attempt)
        case EACCES, EPERM:
            throw MountError.deniedDevice(attempt)
        default: return
        }
    }

    package static func checkHelper(_ attempt: String) throws(MountError) {
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        guard ProgramPath.find("fusermount3", in: "\(path):/usr/bin:/bin") == nil else { return }
        throw MountError(
            .helperMissing, attempt, reason: "fusermount3 is not installed",
            remedy: "install the package fuse3")
    }

    package static func checkSharing(_ attempt: String) throws(MountError) {
        let lines = (readText("/etc/fuse.conf") ?? "").split(whereSeparator: \.isNewline)
        guard !lines.contains(where: { $0.split(separator: " ") == ["user_allow_other"] }) else {
            return
        }
        throw MountError(
            .sharingDenied, attempt, reason: "this system does not allow users to share a mount",
            remedy: "have root add the line user_allow_other to /etc/fuse.conf, or mount without"
                + " --allow-other")
    }
}

extension MountError {
    static func missingDevice(_ attempt: String) -> MountError {
        MountError(
            .deviceMissing, attempt, reason: "/dev/fuse does not exist",
            remedy: "load it with: modprobe fuse (in a container: --device /dev/fuse)")
    }

    static func deniedDevice(_ attempt: String) -> MountError {
        MountError(
            .deviceDenied, attempt, reason: "no permission to open /dev/fuse",
            remedy: "have root allow it with: chmod 666 /dev/fuse (in a container:"
                + " --device /dev/fuse --cap-add SYS_ADMIN)")
    }
}
