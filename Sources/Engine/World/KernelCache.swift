/// What the kernel remembers of the mount, to be forgotten when the remote changes something.
///
/// The engine calls it with no lock held and from no request, as the kernel may wait for requests
/// of its own meanwhile.
package protocol KernelCache: Sendable {
    /// Forgets a name, or that there is none. A name that the kernel does not know is fine.
    func invalidate(_ name: FileName, in parent: InodeNumber)

    /// Forgets attributes and cached bytes of an inode.
    func invalidate(_ inode: InodeNumber)
}
