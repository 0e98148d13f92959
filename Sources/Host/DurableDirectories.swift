import Glibc
import Synchronization
import SystemCalls

/// Puts the names of files on the medium, with those of the directories above them.
///
/// A directory's own name needs that once, as directories are never removed or renamed here. The
/// directories done are remembered, up to a bound: forgetting one costs an `fsync`.
final class DurableDirectories: Sendable {
    /// More than there are content directories.
    private static let rememberedMax = 4_096

    /// Directories whose name, and those of all directories above, are on the medium.
    private let known = Mutex<Set<String>>([])

    /// Returns once all names in the last of `parents`, and that directory's own, survive power loss.
    ///
    /// - Parameter parents: The root (`.`) first, then each directory in the one before.
    func synchronize(_ parents: [String], in root: Descriptor) throws(SystemError) {
        guard let holder = parents.last else { return }
        let isKnown = known.withLock { $0.contains(holder) }
        // An `fsync` of a directory writes the names in it, not its own.
        for directory in isKnown ? parents.suffix(1) : parents[...] {
            try Descriptor(opening: directory, in: root, flags: O_RDONLY | O_DIRECTORY)
                .synchronize()
        }
        if !isKnown {
            known.withLock { known in
                if known.count >= Self.rememberedMax { known.removeAll() }
                known.insert(holder)
            }
        }
    }
}
