import CFuse
import Engine

/// The operations on directories.
struct DirectoryOperations {
    let server: RequestServer

    /// Opens a directory without letting the kernel cache its listing (`cache_readdir`).
    ///
    /// A listing in flight while the remote changes the directory would be cached after its
    /// invalidation and stay wrong until the next change.
    func open(_ reply: consuming Reply, _ inode: InodeNumber) {
        server.trace("opendir", inode)
        reply.opened(fuse_file_info())
    }

    /// - Parameters:
    ///   - offset: 0, or the kernel's offset of the last entry seen.
    ///   - room: The size of the caller's buffer in bytes.
    func read(
        _ reply: consuming Reply, _ inode: InodeNumber, after offset: Int64, room: Int,
        format: DirectoryBuffer.Format
    ) {
        let (engine, timeouts) = (server.engine, server.timeouts)
        server.serve("readdir", inode, reply) { () throws(Blocked) in
            try Listing(of: inode, after: offset, limit: format.entriesMax(in: room), engine)
        } answer: { reply, listing in
            var buffer = DirectoryBuffer(format, bytesMax: room, timeouts: timeouts)
            listing.append(to: &buffer)
            buffer.answer(reply)
        }
    }
}

extension RequestServer {
    var directories: DirectoryOperations { DirectoryOperations(server: self) }
}
