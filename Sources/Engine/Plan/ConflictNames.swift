import Synchronization

/// Counts the conflict names that each inode has been given since it last agreed with the remote.
final class ConflictNames: Sendable {
    private let counts = Mutex<[InodeNumber: Int]>([:])

    func count(of inode: InodeNumber) -> Int { counts.withLock { $0[inode] ?? 0 } }

    func set(_ count: Int, of inode: InodeNumber) { counts.withLock { $0[inode] = count } }

    func forget(_ inodes: [InodeNumber]) {
        counts.withLock { counts in
            for inode in inodes { counts[inode] = nil }
        }
    }
}
