import CFuse
import Synchronization

extension fuse_lowlevel_ops {
    /// The callbacks of a session whose user data is its ``RequestServer``.
    ///
    /// For a missing operation libfuse answers ENOSYS, and the kernel asks no more: locks become
    /// local, and allocating and copying fall back to writing.
    static var serving: fuse_lowlevel_ops {
        var table = fuse_lowlevel_ops()
        table.addSession()
        table.addLookups()
        table.addNames()
        table.addAttributes()
        table.addExtendedAttributes()
        table.addHandles()
        table.addContent()
        table.addDirectories()
        return table
    }

    private mutating func addSession() {
        `init` = { server, connection in
            guard let server, let connection else { return }
            let requests = RequestServer.of(server)
            connection.pointee.negotiate(cachesSymlinks: requests.cachesSymlinks)
            requests.needsNoOpendir.store(
                connection.pointee.capable & CUnsignedInt(FUSE_CAP_NO_OPENDIR_SUPPORT) != 0,
                ordering: .relaxed)
        }
        // Inodes live in the database, whether or not the kernel knows them.
        forget = { request, _, _ in
            Reply(request!).none()
        }
        forget_multi = { request, _, _ in
            Reply(request!).none()
        }
    }
}
