package import Engine
import Synchronization

/// Records the invalidations that an engine sends to the kernel's caches.
package final class SimulatedKernelCache: KernelCache {
    package struct Invalidations: Sendable {
        package var names: Set<Name> = []
        /// Of bytes or listings, and attributes.
        package var inodes: Set<InodeNumber> = []
        /// Of attributes at least.
        package var attributes: Set<InodeNumber> = []
    }

    package struct Name: Hashable, Sendable {
        package let parent: InodeNumber
        package let name: [UInt8]
    }

    private let recorded = Mutex(Invalidations())

    package init() {}

    /// Returns the invalidations since the last call.
    package func take() -> Invalidations {
        recorded.withLock { recorded in
            defer { recorded = Invalidations() }
            return recorded
        }
    }

    package func invalidate(_ name: FileName, in parent: InodeNumber) {
        recorded.withLock { _ = $0.names.insert(Name(parent: parent, name: name.bytes)) }
    }

    package func invalidate(_ inode: InodeNumber) {
        recorded.withLock { recorded in
            recorded.inodes.insert(inode)
            recorded.attributes.insert(inode)
        }
    }

    package func invalidateAttributes(of inode: InodeNumber) {
        recorded.withLock { _ = $0.attributes.insert(inode) }
    }
}
