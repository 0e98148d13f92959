import CFuse
import Glibc

/// Tells a program that looks at a symbolic link from one that follows it.
///
/// The kernel asks for the target in the same words in both cases. But the thread that made it ask
/// waits in a system call until we answer, and `/proc` says in which one; see
/// `docs/decisions/006-contained-symlinks.md`. In doubt it is following.
enum LinkReading {
    /// How often a thread is looked at that has asked and does not wait yet.
    private static let looksMax = 200

    /// Whether the thread waits in `readlink` or `readlinkat`.
    ///
    /// Blocks for a few milliseconds at the most.
    ///
    /// - Parameter thread: As this process knows it; 0 where it cannot.
    static func isShown(to thread: pid_t) -> Bool {
        guard thread > 0 else { return false }
        for _ in 0..<looksMax {
            guard let text = readText("/proc/\(thread)/syscall") else { return false }
            guard text.hasPrefix("running") else { return isReading(text) }
            // It has asked, so it is on its way to sleep, and nothing tells when it has got there.
            usleep(50)
        }
        return false
    }

    /// - Parameter text: What `/proc/PID/syscall` says: a number, arguments and two addresses.
    ///   Programs of 32 bits have other numbers, and so count as following.
    static func isReading(_ text: String) -> Bool {
        guard let number = text.split(separator: " ").first.flatMap({ Int($0) }) else {
            return false
        }
        return number == apus_readlink || number == apus_readlinkat
    }
}
