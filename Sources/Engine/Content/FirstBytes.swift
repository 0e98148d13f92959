import Synchronization

/// The first bytes of files that came with their metadata, for programs that open the files right after
/// their lookup. They count as fetched once they are used. Has no clock: time is an argument.
final class FirstBytes: Sendable {
    /// Of one file; the first read of a program usually asks for no more.
    static var bytesMax: Int { 32 << 10 }
    static var filesMax: Int { 8 }
    /// How long they stand for a look at the version, which an open asks for otherwise.
    static var age: Duration { .milliseconds(500) }

    private struct Entry {
        let inode: InodeNumber
        let etag: ETag
        let bytes: [UInt8]
        let time: Duration
    }

    /// The oldest first.
    private let entries = Mutex<[Entry]>([])

    /// Keeps the first bytes of one version, instead of those of another.
    ///
    /// - Parameter now: The time at which they were asked for.
    func keep(_ bytes: [UInt8], of inode: InodeNumber, _ etag: ETag, at now: Duration) {
        entries.withLock { entries in
            entries.removeAll { $0.inode == inode || $0.time + Self.age < now }
            entries.append(Entry(inode: inode, etag: etag, bytes: bytes, time: now))
            entries.removeFirst(max(0, entries.count - Self.filesMax))
        }
    }

    /// Returns the first bytes of a version, and forgets them; nil if there are none.
    func take(of inode: InodeNumber, _ etag: ETag, at now: Duration) -> [UInt8]? {
        entries.withLock { entries in
            entries.removeAll { $0.time + Self.age < now }
            guard let index = entries.firstIndex(where: { $0.inode == inode }) else { return nil }
            let entry = entries.remove(at: index)
            return entry.etag == etag ? entry.bytes : nil
        }
    }
}
