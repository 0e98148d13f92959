import CLinux

/// Tells the directory of a source apart from others, also after a restart of the machine: the bare
/// directory on which its disk is mounted at other times is another one.
struct FolderIdentity: Hashable, CustomStringConvertible {
    let description: String

    /// - Parameter fileSystem: Of the directory; its number identifies the disk, unlike that of the
    ///   device, which depends on the order in which disks are found.
    init(of directory: FolderStatus, on fileSystem: statfs?) {
        let disk = fileSystem?.f_fsid.__val ?? (0, 0)
        description = "\(disk.0).\(disk.1).\(directory.birthMark)"
    }
}
