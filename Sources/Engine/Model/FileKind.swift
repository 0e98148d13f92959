/// What an inode is. Other kinds (sockets, devices, pipes) have no place in a cloud.
package enum FileKind: Int, Hashable, Sendable {
    case file = 0
    case directory = 1
    case symlink = 2
}
