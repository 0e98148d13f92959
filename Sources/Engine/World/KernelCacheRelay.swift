import Synchronization

/// Passes changes on to the kernel's caches, once the kernel is attached.
final class KernelCacheRelay: Sendable {
    private let cache = Mutex<(any KernelCache)?>(nil)

    func attach(_ cache: any KernelCache) {
        self.cache.withLock { $0 = cache }
    }

    /// Invalidates names and inodes in the kernel. The caller holds no lock.
    func announce(_ changes: [CacheChange]) {
        guard !changes.isEmpty, let cache = cache.withLock({ $0 }) else { return }
        for change in changes {
            switch change {
            case .name(let name, let parent): cache.invalidate(name, in: parent)
            case .inode(let inode): cache.invalidate(inode)
            case .attributes(let inode): cache.invalidateAttributes(of: inode)
            }
        }
    }

    /// Has the kernel report the next use of directories. The caller holds no lock.
    func watch(_ directories: [InodeNumber]) {
        announce(directories.map { .attributes($0) })
    }
}
