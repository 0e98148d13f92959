import Engine

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
    /// - Parameter offset: 0, or the kernel's offset of the last entry seen.
    init(
        of directory: InodeNumber, after offset: Int64, limit: Int, _ engine: Engine
    ) throws(Blocked) {
        dots = []
        if offset < 1 { dots.append((".", directory, 1)) }
        if offset < 2 { dots.append(("..", try engine.parent(of: directory), 2)) }
        entries = try engine.entries(
            of: directory, after: max(0, offset - Self.cookieShift), limit: limit)
    }
}
