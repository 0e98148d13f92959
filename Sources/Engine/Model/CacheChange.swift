/// Something that the kernel may have cached and that has changed.
enum CacheChange: Hashable {
    case name(FileName, InodeNumber)
    case inode(InodeNumber)
}
