import CFuse
import Glibc

/// Distinguishes a program that reads a symbolic link from one that follows it.
///
/// The kernel sends the same request in both cases. But the calling thread waits in a system call
/// until it is answered, and `/proc` names that call; see
/// `docs/decisions/006-contained-symlinks.md`. In doubt the program is taken to follow the link.
enum LinkReading {
    /// How often to check a calling thread that does not wait yet.
    private static let checksMax = 200

    /// Whether the thread waits in `readlink` or `readlinkat`.
    ///
    /// Blocks for a few milliseconds at most.
    ///
    /// - Parameter thread: See ``Reply/thread``.
    static func isShown(to thread: pid_t) -> Bool {
        guard thread > 0 else { return false }
        for _ in 0..<checksMax {
            guard let text = readText("/proc/\(thread)/syscall") else { return false }
            guard text.hasPrefix("running") else { return isReading(text) }
            // It has sent its request, so it is about to sleep, but there is no event for that.
            usleep(50)
        }
        return false
    }

    /// - Parameter text: The content of `/proc/PID/syscall`: a number, arguments and two addresses.
    ///   32-bit programs have other numbers, and so count as following.
    static func isReading(_ text: String) -> Bool {
        guard let number = text.split(separator: " ").first.flatMap({ Int($0) }) else {
            return false
        }
        return number == apus_readlink || number == apus_readlinkat
    }
}
