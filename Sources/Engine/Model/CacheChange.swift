/// A change of something that the kernel may have cached.
enum CacheChange: Hashable {
    case name(FileName, InodeNumber)
    case inode(InodeNumber)
}
