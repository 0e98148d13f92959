/// The kind of an inode. Clouds do not store other kinds (sockets, devices, pipes).
package enum FileKind: Int, Hashable, Sendable {
    case file = 0
    case directory = 1
    case symlink = 2
}
