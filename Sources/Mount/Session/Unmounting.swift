import Glibc

/// Unmounts a mount that is not in use: as root with the system call, else with `fusermount3`.
///
/// - Parameter path: Absolute, without symbolic links.
/// - Throws: `.busy`, `.helperMissing`, `.refused`.
func unmount(_ path: String) throws(MountError) {
    let attempt = "cannot unmount \(path)"
    if umount2(path, 0) == 0 { return }
    switch errno {
    case EBUSY: throw .busy(attempt, path)
    case EPERM: break
    default: throw MountError(.refused, attempt, reason: String(cString: strerror(errno)))
    }
    switch runHelper(["fusermount3", "-u", "-q", "--", path]) {
    case .success(0): return
    case .success: throw .busy(attempt, path)
    case .failure(let code):
        throw MountError(
            .helperMissing, attempt,
            reason: "fusermount3 cannot be run: \(String(cString: strerror(code.errno)))",
            remedy: "install the package fuse3")
    }
}

private struct Code: Error { let errno: CInt }

/// - Returns: The status from `waitpid`.
private func runHelper(_ words: [String]) -> Result<CInt, Code> {
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { (word: String) in strdup(word) }
    defer { for argument in arguments { free(argument) } }
    arguments.append(nil)
    var process = pid_t()
    let code = posix_spawnp(&process, words[0], nil, nil, &arguments, environ)
    guard code == 0 else { return .failure(Code(errno: code)) }
    var status: CInt = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return .success(status)
}

extension MountError {
    fileprivate static func busy(_ attempt: String, _ path: String) -> MountError {
        MountError(
            .busy, attempt, reason: "it is in use",
            remedy: "close the programs that use it; fuser -vm \(path) lists them")
    }
}
