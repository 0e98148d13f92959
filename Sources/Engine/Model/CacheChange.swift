/// A change of something that the kernel may have cached.
enum CacheChange: Hashable {
    case name(FileName, InodeNumber)
    /// Attributes, and bytes or the listing.
    case inode(InodeNumber)
    case attributes(InodeNumber)
}
