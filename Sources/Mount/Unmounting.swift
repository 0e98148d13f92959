import Glibc

/// Takes mounts away, as root by the system call and else by `fusermount3`.
enum Unmounting {
    /// - Parameters:
    ///   - path: Absolute, without symbolic links.
    ///   - isLazy: Whether also while it is in use.
    static func unmount(_ path: String, isLazy: Bool) throws(MountError) {
        let attempt = "cannot unmount \(path)"
        let code = unmountDirectly(path, isLazy: isLazy)
        switch code {
        case 0: return
        case EBUSY: throw busy(attempt, path)
        case EPERM: break
        default:
            throw MountError(.refused, attempt, reason: String(cString: strerror(code)))
        }
        let arguments = ["-u", "-q"] + (isLazy ? ["-z"] : []) + ["--", path]
        switch runHelper(arguments) {
        case .success(0): return
        case .success: throw busy(attempt, path)
        case .failure(let code): throw missingHelper(attempt, code)
        }
    }

    /// - Returns: 0 or the errno.
    private static func unmountDirectly(_ path: String, isLazy: Bool) -> CInt {
        umount2(path, isLazy ? CInt(MNT_DETACH) : 0) == 0 ? 0 : errno
    }

    private struct Code: Error { let errno: CInt }

    private static func runHelper(_ arguments: [String]) -> Result<CInt, Code> {
        var words = (["fusermount3"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process = pid_t()
        let code = posix_spawnp(&process, "fusermount3", nil, nil, &words, environ)
        guard code == 0 else { return .failure(Code(errno: code)) }
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return .success(status)
    }

    private static func busy(_ attempt: String, _ path: String) -> MountError {
        MountError(
            .busy, attempt, reason: "it is in use",
            remedy: "close what uses it; fuser -vm \(path) shows what")
    }

    private static func missingHelper(_ attempt: String, _ code: Code) -> MountError {
        MountError(
            .helperMissing, attempt,
            reason: "fusermount3 does not run: \(String(cString: strerror(code.errno)))",
            remedy: "install the package fuse3")
    }
}
