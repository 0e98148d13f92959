import CFuse
import Engine
import Glibc
import Synchronization

extension fuse_lowlevel_ops {
    mutating func addDirectories() {
        opendir = { request, inode, _ in
            let request = Request(request, .opendir, inode)
            request.trace()
            if request.server.needsNoOpendir.load(ordering: .relaxed) {
                // The kernel then opens directories by itself, and caches their listings.
                request.reply.fail(ENOSYS)
            } else {
                var handle = fuse_file_info()
                handle.cache_readdir = 1
                handle.keep_cache = 1
                request.reply.opened(handle)
            }
        }
        readdir = { request, inode, room, offset, _ in
            Request(request, .readdir, inode).list(after: Int64(offset), room: room, .names)
        }
        readdirplus = { request, inode, room, offset, _ in
            Request(request, .readdir, inode).list(after: Int64(offset), room: room, .attributes)
        }
        releasedir = { request, _, _ in
            Reply(request!).succeed()
        }
        fsyncdir = { request, inode, _, _ in
            Request(request, .fsync, inode).synchronize()
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
            let form = request.server.form
            var buffer = DirectoryBuffer(format, bytesMax: room, form)
            listing.append(to: &buffer)
            let items = listing.items(of: request.inode, format)
            request.answer(items) { reply in buffer.answer(reply) }
        }
    }
}

/// Part of a directory listing, including `.` and `..` if it starts at the beginning.
///
/// The kernel's offset after an entry is the engine's cookie plus 2, so that `.` and `..` have
/// offsets of their own: 1 and 2.
struct Listing: Sendable {
    private static let cookieShift: Int64 = 2

    /// The dots that are still due, each with its inode and offset.
    var dots: [(name: StaticString, inode: InodeNumber, offset: Int64)]
    var entries: [DirectoryEntry]

    func append(to buffer: inout DirectoryBuffer) {
        for dot in dots {
            guard buffer.append(dot.name, dot.inode, next: dot.offset) else { return }
        }
        for entry in entries {
            guard buffer.append(entry, next: entry.cookie + Self.cookieShift) else { return }
        }
    }
}

extension Listing {
    /// The parts of the answer that the kernel may cache.
    fileprivate func items(
        of directory: InodeNumber, _ format: DirectoryBuffer.Format
    ) -> [InvalidationQueue.Item] {
        guard format == .attributes else { return [.inode(directory)] }
        return entries.reduce(into: [.inode(directory)]) { items, entry in
            items.append(.name(entry.name, parent: directory))
            items.append(.attributes(entry.attributes.inode))
        }
    }

    /// - Parameter offset: 0, or the kernel's offset of the last entry seen.
    init(
        of directory: InodeNumber, after offset: Int64, limit: Int, _ engine: Engine
    ) throws(Blocked) {
        if offset == 0 { try engine.refreshes.requireFirstLook(at: directory) }
        dots = []
        if offset < 1 { dots.append((".", directory, 1)) }
        if offset < 2 { dots.append(("..", try engine.parent(of: directory), 2)) }
        entries = try engine.entries(
            of: directory, after: max(0, offset - Self.cookieShift), limit: limit)
    }
}
