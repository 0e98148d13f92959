/// The kernel's caches of the mount, which are invalidated after remote changes.
///
/// The engine calls it with no lock held and outside of requests, as the kernel may first wait for
/// its own requests.
package protocol KernelCache: Sendable {
    /// Invalidates a name, including a cached absence. The kernel need not know the name.
    func invalidate(_ name: FileName, in parent: InodeNumber)

    /// Invalidates the attributes and cached bytes of an inode, of a directory its cached listing.
    func invalidate(_ inode: InodeNumber)

    /// Invalidates the attributes of an inode only. At the next use of a directory, also by a path
    /// through it, the kernel asks for them.
    func invalidateAttributes(of inode: InodeNumber)
}
