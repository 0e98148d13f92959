/// The requests of the kernel that are measured: all but those without an answer, and those that are
/// answered with a constant.
package enum RequestKind: Int, CaseIterable, Sendable {
    case create, fsync, getattr, getxattr, listxattr, lookup, mkdir, mknod, open, opendir,
        read,
        readdir, readlink, release, rename, rmdir, setattr, setxattr, statfs, symlink, unlink, write

    /// FUSE's name of the request.
    package var name: String { "\(self)" }
}
