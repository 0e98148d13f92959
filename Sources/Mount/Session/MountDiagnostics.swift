import CFuse
import Glibc

/// The messages of libfuse and fusermount3 during mounting, from which the one error line is made
/// that the user sees.
struct MountDiagnostics {
    let lines: [String]

    /// Runs `body` and captures its messages instead of printing them.
    ///
    /// fusermount3 writes to the stderr that it inherits, so this process's is a pipe meanwhile.
    static func capturing<Value>(_ body: () -> Value) -> (Value, MountDiagnostics) {
        var ends: [CInt] = [-1, -1]
        let original = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)
        guard original >= 0, apus_pipe_cloexec(&ends) == 0 else {
            if original >= 0 { close(original) }
            let (value, lines) = LibfuseLog.shared.capturing(body)
            return (value, MountDiagnostics(lines: lines))
        }
        dup2(ends[1], STDERR_FILENO)
        close(ends[1])
        let (value, lines) = LibfuseLog.shared.capturing(body)
        dup2(original, STDERR_FILENO)
        close(original)
        let printed = String(decoding: readAll(ends[0]), as: UTF8.self)
            .split(whereSeparator: \.isNewline).map(String.init)
        close(ends[0])
        // fusermount3's lines are ours, all others come from other threads.
        let ours = printed.filter { $0.hasPrefix("fuse") }
        for line in printed where !line.hasPrefix("fuse") {
            write(STDERR_FILENO, "\(line)\n", line.utf8.count + 1)
        }
        return (value, MountDiagnostics(lines: lines + ours))
    }

    func error(_ attempt: String) -> MountError {
        let reason = lines.last ?? "libfuse reported no reason"
        if reason.contains("/dev/fuse") {
            return reason.contains("Permission denied") || reason.contains("not permitted")
                ? .deniedDevice(attempt) : .missingDevice(attempt)
        }
        guard reason.contains("Operation not permitted") else {
            return MountError(.refused, attempt, reason: reason)
        }
        return MountError(
            .refused, attempt, reason: reason,
            remedy: "mounting needs the capability SYS_ADMIN (in a container: --cap-add SYS_ADMIN)")
    }
}
