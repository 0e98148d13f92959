import Glibc
import Synchronization

/// Writes the names of files to the medium, together with those of the directories above them.
///
/// A directory's own name needs this only once, as directories are never removed or renamed here.
/// A bounded set of finished directories avoids repetition; a missing entry costs only an `fsync`.
final class DurableDirectories: Sendable {
    /// More than the number of content directories.
    private static let rememberedMax = 4_096

    /// Directories whose names, and those of all directories above, are on the medium.
    private let known = Mutex<Set<String>>([])

    /// Returns once all names in the last of `parents`, and that directory itself, survive power
    /// loss.
    ///
    /// - Parameter parents: The root (`.`) first, then each directory in the one before.
    func synchronize(_ parents: [String], in root: Descriptor) throws(SystemError) {
        guard let holder = parents.last else { return }
        let isKnown = known.withLock { $0.contains(holder) }
        // The name of a directory is written with its parent.
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
