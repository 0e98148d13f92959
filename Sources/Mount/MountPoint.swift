import CFuse
import Glibc

/// The directory to mount on, checked before libfuse tries, so that a refusal says what to do.
struct MountPoint {
    /// Absolute, without symbolic links.
    let path: String

    /// - Parameter path: As the user gave it.
    init(checking path: String) throws(MountError) {
        let attempt = "cannot mount on \(path)"
        try Self.clearDeadMount(path)
        guard let resolved = Self.resolved(path) else {
            throw Self.error(attempt, path, errno)
        }
        self.path = resolved
        if let mounted = MountTable.current().entry(at: resolved) {
            throw MountError(
                .busy, attempt, reason: "\(mounted.source) is mounted there already",
                remedy: "unmount it first, or choose another directory")
        }
        try checkEmpty(attempt)
        guard access(resolved, W_OK) == 0 else {
            throw MountError(
                .mountPointDenied, attempt, reason: "you may not write to it",
                remedy: "choose a directory of your own")
        }
    }

    /// Takes away what a killed process of ours left there: a mount that answers nothing.
    private static func clearDeadMount(_ path: String) throws(MountError) {
        var status = stat()
        guard stat(path, &status) != 0, errno == ENOTCONN, let path = absolute(path),
            MountTable.current().entry(at: path)?.type == "fuse.\(FuseSession.subtype)"
        else { return }
        try Unmounting.unmount(path, isLazy: true)
    }

    private func checkEmpty(_ attempt: String) throws(MountError) {
        guard let directory = opendir(path) else {
            throw Self.error(attempt, path, errno)
        }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            guard name == "." || name == ".." else {
                throw MountError(
                    .mountPointNotEmpty, attempt, reason: "it is not empty",
                    remedy: "choose an empty directory")
            }
        }
    }

    private static func error(_ attempt: String, _ path: String, _ code: CInt) -> MountError {
        switch code {
        case ENOENT:
            MountError(
                .mountPointMissing, attempt, reason: "there is no such directory",
                remedy: "create it with: mkdir -p \(path)")
        case ENOTDIR:
            MountError(
                .mountPointNotDirectory, attempt, reason: "it is not a directory",
                remedy: "choose an empty directory")
        case ENOTCONN:
            MountError(
                .busy, attempt, reason: "a dead mount is in the way",
                remedy: "remove it with: fusermount3 -u -z \(path)")
        default:
            MountError(.mountPointDenied, attempt, reason: String(cString: strerror(code)))
        }
    }

    static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// The path of something that cannot be looked into: its directory's, resolved, and its name.
    private static func absolute(_ path: String) -> String? {
        var parts = path.split(separator: "/")
        guard let name = parts.popLast() else { return nil }
        let parent = (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
        guard let resolved = resolved(parent.isEmpty ? "." : parent) else { return nil }
        return resolved == "/" ? "/\(name)" : "\(resolved)/\(name)"
    }
}
