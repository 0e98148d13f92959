import CFuse
import Engine

extension fuse_lowlevel_ops {
    mutating func addDirectories() {
        // The kernel may not cache the listing (`cache_readdir`): one in flight while the remote
        // changes the directory would be cached after its invalidation and stay wrong until the
        // next change.
        opendir = { request, inode, _ in
            let request = Request(request, "opendir", inode)
            request.trace()
            request.reply.opened(fuse_file_info())
        }
        readdir = { request, inode, room, offset, _ in
            Request(request, "readdir", inode).list(after: Int64(offset), room: room, .names)
        }
        readdirplus = { request, inode, room, offset, _ in
            Request(request, "readdir", inode).list(after: Int64(offset), room: room, .attributes)
        }
        releasedir = { request, _, _ in
            Reply(request!).succeed()
        }
        fsyncdir = { request, inode, _, _ in
            Request(request, "fsync", inode).synchronize()
        }
    }
}

extension Request {
    /// - Parameters:
    ///   - offset: 0, or the kernel's offset of the last entry seen.
    ///   - room: The size of the caller's buffer in bytes.
    fileprivate consuming func list(
        after offset: Int64, room: Int, _ format: DirectoryBuffer.Format
    ) {
        serve { (engine, directory) throws(Blocked) in
            try Listing(of: directory, after: offset, limit: format.entriesMax(in: room), engine)
        } answer: { request, listing in
            let timeouts = request.server.timeouts
            var buffer = DirectoryBuffer(format, bytesMax: room, timeouts: timeouts)
            listing.append(to: &buffer)
            buffer.answer(request.reply)
        }
    }
}
