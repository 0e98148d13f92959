import Glibc
import SystemCalls

/// How often to try to unmount, and the pause in between: a program that only looks at the mount, as one
/// that lists all mounts does, holds it for a moment, and no event tells its end.
private let attemptsMax = 5
private let pauseMicroseconds: useconds_t = 100_000

/// Unmounts a mount that is not in use: as root with the system call, else with `fusermount3`. Blocks for
/// half a second at most.
///
/// - Parameters:
///   - path: Absolute, without symbolic links.
///   - isPatient: Whether to try again while it is in use.
/// - Throws: `.busy`, `.helperMissing`, `.refused`.
func unmount(_ path: String, isPatient: Bool) throws(MountError) {
    for _ in 1..<(isPatient ? attemptsMax : 1) {
        do throws(MountError) {
            return try unmountOnce(path)
        } catch {
            guard error.kind == .busy else { throw error }
            // No event tells that the last program has left a mount.
            usleep(pauseMicroseconds)
        }
    }
    try unmountOnce(path)
}

private func unmountOnce(_ path: String) throws(MountError) {
    let attempt = "cannot unmount \(path)"
    if umount2(path, 0) == 0 { return }
    switch errno {
    case EBUSY: throw .busy(attempt, path)
    case EPERM: break
    default: throw MountError(.refused, attempt, reason: "\(SystemError.last)")
    }
    var process = pid_t()
    let code = withCStrings(["fusermount3", "-u", "-q", "--", path]) {
        posix_spawnp(&process, "fusermount3", nil, nil, $0, environ)
    }
    guard code == 0 else {
        throw MountError(
            .helperMissing, attempt, reason: "fusermount3 cannot be run: \(SystemError(code))",
            remedy: "install the package fuse3")
    }
    if ChildProgram.awaitEnd(of: process) != 0 { throw .busy(attempt, path) }
}

extension MountError {
    fileprivate static func busy(_ attempt: String, _ path: String) -> MountError {
        MountError(
            .busy, attempt, reason: "it is in use",
            remedy: "close the programs that use it; fuser -vm \(path) lists them")
    }
}
