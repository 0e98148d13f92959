import CLinux
import Glibc
import Synchronization
import SystemCalls

/// A file of a ``PosixDisk`` while it is in use: its path, and its descriptor unless that was
/// closed because the file is idle.
///
/// All ``PosixFile``s of a path share one. Its locks are leaves.
final class OpenInode: Sendable {
    struct State {
        /// Relative to the root.
        var location: Location
        /// ``PosixFile``s and calls that use this; changed under the lock of ``OpenInodes`` only.
        var users = 1
        var descriptor: Descriptor?
        /// Its former descriptor, which is closed after an `fsync` unless the file is used before.
        var leaving: Descriptor?
        /// The index among the inodes with a descriptor, see ``OpenInodes``.
        var position: Int?
        /// Whether the descriptor was used since the clock hand passed last.
        var isRecent = true
        /// See ``PosixFile/expectHoles(_:)``.
        var hasHoles = false
        /// Whether there are writes that no `fsync` followed.
        var isUnsynchronized = false
        /// Whether the file's name is on the medium; it then stays there.
        var isNameDurable = false
        /// The number of failures of `fsync`, and the last of them. The kernel reports a failure once and
        /// then takes the lost pages for clean, so that a later success would promise too much.
        var failures = 0
        var failure: SystemError?
    }

    let device: dev_t
    let number: ino_t
    let state: Mutex<State>
    /// Held during `fsync`: its failure is noted before another one can succeed.
    private let synchronizing = Mutex(())

    init(_ descriptor: Descriptor, at location: Location) throws(SystemError) {
        let status = try descriptor.status()
        (device, number) = (status.st_dev, status.st_ino)
        state = Mutex(State(location: location))
    }

    func isSameFile(as other: OpenInode) -> Bool {
        (device, number) == (other.device, other.number)
    }

    func isSameFile(as status: stat) -> Bool {
        (device, number) == (status.st_dev, status.st_ino)
    }

    /// Tells the kernel whether to read ahead in the file.
    func advise(_ descriptor: Descriptor) {
        let hasHoles = state.withLock(\.hasHoles)
        _ = posix_fadvise(
            descriptor.rawValue, 0, 0, hasHoles ? POSIX_FADV_RANDOM : POSIX_FADV_NORMAL)
    }

    /// Waits for bytes that the kernel is writing.
    ///
    /// - Throws: The failure of an earlier write or `fsync`, as ``synchronize(_:after:)`` does.
    func awaitWritten(_ descriptor: Descriptor, after known: Int) throws(SystemError) {
        try perform(after: known) { () throws(SystemError) in
            _ = try retryingInterrupts { apus_await_written(descriptor.rawValue) }
        }
    }

    /// Puts the bytes on the medium.
    ///
    /// - Parameter known: The number of failures when the caller opened the file; later ones fail this
    ///   call too.
    func synchronize(_ descriptor: Descriptor, after known: Int) throws(SystemError) {
        state.withLock { $0.isUnsynchronized = false }
        try perform(after: known) { () throws(SystemError) in try descriptor.synchronize() }
    }

    private func perform(
        after known: Int, _ call: () throws(SystemError) -> Void
    ) throws(SystemError) {
        try synchronizing.withLock { _ throws(SystemError) in
            let failure = state.withLock { $0.failures > known ? $0.failure : nil }
            if let failure { throw failure }
            do throws(SystemError) {
                try call()
            } catch {
                state.withLock { state in
                    state.failures += 1
                    state.failure = error
                }
                throw error
            }
        }
    }

    /// Puts the file's name on the medium, unless it is there already.
    func synchronizeName(_ disk: PosixDisk.Root) throws(SystemError) {
        let (location, isDurable) = state.withLock { ($0.location, $0.isNameDurable) }
        if isDurable { return }
        try disk.durableNames.synchronize(location.parents, in: disk.directory)
        state.withLock { state in
            // A move meanwhile has given it another name.
            if state.location.path == location.path { state.isNameDurable = true }
        }
    }
}

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
