import CFuse
import Engine
import Glibc

// The operations on directories. The kernel's offset after an entry is the engine's cookie plus 2,
// so that `.` and `..` have offsets of their own: 1 and 2.
extension RequestServer {
    /// Listings are not left to the kernel's cache (`cache_readdir`): a listing that is in flight
    /// while the remote changes the directory would be cached after its invalidation, and stay
    /// wrong until the next change.
    func openDirectory(_ reply: consuming Reply, _ inode: InodeNumber) {
        trace("opendir", inode)
        reply.opened(fuse_file_info())
    }

    /// - Parameters:
    ///   - offset: 0, or that of the last entry seen.
    ///   - room: Bytes that the asker has room for.
    ///   - format: Whether attributes are wanted too.
    func readDirectory(
        _ reply: consuming Reply, _ inode: InodeNumber, after offset: Int64, room: Int,
        format: DirectoryBuffer.Format
    ) {
        serve("readdir", inode, reply) { [engine] () throws(Halt) in
            try engine.listing(of: inode, after: offset, limit: format.entriesMax(in: room))
        } answer: { [timeouts] reply, listing in
            var buffer = DirectoryBuffer(format, bytesMax: room, timeouts: timeouts)
            listing.append(to: &buffer)
            buffer.answer(reply)
        }
    }
}

/// A stretch of a directory, with `.` and `..` where it begins with them.
struct Listing: Sendable {
    /// How far the engine's cookies are shifted to make offsets.
    static let cookieShift: Int64 = 2

    /// Inodes of `.` and `..` with their offsets, those that are due.
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

extension Engine {
    /// - Parameter offset: 0, or the kernel's offset of the last entry seen.
    func listing(
        of directory: InodeNumber, after offset: Int64, limit: Int
    ) throws(Halt) -> Listing {
        var dots: [(name: StaticString, inode: InodeNumber, offset: Int64)] = []
        if offset < 1 { dots.append((".", directory, 1)) }
        if offset < 2 { dots.append(("..", try parent(of: directory), 2)) }
        let cookie = max(0, offset - Listing.cookieShift)
        return Listing(
            dots: dots, entries: try entries(of: directory, after: cookie, limit: limit))
    }
}
