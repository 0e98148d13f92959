import Glibc
import Synchronization

/// Brings the names of files to the medium, together with those of the directories above them.
///
/// A directory's own name needs that once, as nobody removes or renames directories here. What has
/// been done is remembered, within a bound: forgetting costs an `fsync` and nothing else.
final class DurableDirectories: Sendable {
    /// More than the content directories fan out to.
    private static let rememberedMax = 4_096

    /// Directories whose name is on the medium, and so are those of all above them.
    private let known = Mutex<Set<String>>([])

    /// Returns once all names in the last of `parents`, and that directory itself, survive power
    /// loss.
    ///
    /// - Parameter parents: The root (`.`) first, then each directory in the one before.
    func synchronize(_ parents: [String], in root: Descriptor) throws(SystemError) {
        guard let holder = parents.last else { return }
        let isKnown = known.withLock { $0.contains(holder) }
        // The name of a directory is written with the one above it.
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
