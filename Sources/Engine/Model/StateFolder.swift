/// The folders of the state directory that hold files of the engine.
package enum StateFolder {
    static let content = DiskPath("content")
    /// Clones of files that are being uploaded.
    static let frozen = DiskPath("frozen")
    /// Files that the remote has deleted, for 30 days.
    static let trash = DiskPath("trash")
    /// Bytes without a name, which are never deleted by the engine.
    package static let lostAndFound = DiskPath("lost+found")
}

extension StateFolder {
    /// The path of an inode's content, in folders of 256.
    static func content(of inode: InodeNumber) -> DiskPath {
        let folder = String(inode.rawValue & 0xFF, radix: 16)
        return DiskPath("\(content)/\(folder)/\(inode)")
    }

    /// Returns the inode whose content is at a path; nil for paths of another shape.
    static func inode(ofContentAt path: DiskPath) -> InodeNumber? {
        let number = path.description.split(separator: "/").last.flatMap { Int64($0) }
        guard let inode = number.map(InodeNumber.init(rawValue:)), content(of: inode) == path
        else { return nil }
        return inode
    }
}
