import GRDB

// Rows of `pins`: the files and directories that users keep on this machine. What is below a pinned
// directory is pinned too, see `PinLookup`.

extension Database {
    func hasPins() throws -> Bool { try hasRow("pins") }

    /// Whether an inode is pinned itself.
    func isPin(_ inode: InodeNumber) throws -> Bool {
        try hasRow("pins WHERE inode = ?", [inode])
    }

    /// - Returns: Whether it was not pinned itself.
    @discardableResult
    func insertPin(_ inode: InodeNumber) throws -> Bool {
        try run("INSERT INTO pins VALUES (?) ON CONFLICT (inode) DO NOTHING", [inode])
        return changesCount > 0
    }

    func removePin(_ inode: InodeNumber) throws {
        try run("DELETE FROM pins WHERE inode = ?", [inode])
    }

    /// Pins the inode that replaces another one under its name, if that one is pinned itself.
    func passPin(from inode: InodeNumber, to replacement: InodeNumber) throws {
        try run("UPDATE OR REPLACE pins SET inode = ? WHERE inode = ?", [replacement, inode])
    }

    /// Returns the pinned inodes that have a name, ascending.
    func pins() throws -> [InodeNumber] {
        try values("SELECT inode FROM \(Self.namedPins) ORDER BY inode", [InodeNumber.root])
    }

    /// Returns the number of ``pins()``.
    func pinCount() throws -> UInt64 {
        try value("SELECT count(*) FROM \(Self.namedPins)", [InodeNumber.root]) ?? 0
    }

    private static let namedPins = """
        pins WHERE inode = ? OR EXISTS (SELECT 1 FROM dirents WHERE dirents.inode = pins.inode)
        """

    /// Returns the pinned inodes and `others`, ascending, without those that are below another one.
    func pinRoots(with others: [InodeNumber] = []) throws -> [InodeNumber] {
        try roots(of: try pins() + others)
    }

    /// Returns inodes, ascending, each once, without those that are below another one.
    func roots(of inodes: [InodeNumber]) throws -> [InodeNumber] {
        let all = Set(inodes)
        return try all.sorted().filter { inode in
            var (current, depth) = (inode, 0)
            while let parent = try dirent(of: current)?.parent, depth < Self.depthMax {
                if all.contains(parent) { return false }
                (current, depth) = (parent, depth + 1)
            }
            return true
        }
    }

    /// Returns the name of a pinned directory in messages.
    func pinnedName(of directory: InodeNumber) throws -> String {
        if directory == .root { return "the whole mount" }
        return "the folder \"\(ObjectKey(try path(of: directory)))\""
    }

    /// More directories one in the other than a path can name; a damaged database may have them in a
    /// circle.
    private static var depthMax: Int { 4_096 }
}
