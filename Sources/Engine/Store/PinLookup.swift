import GRDB

/// Decides whether inodes are pinned, themselves or by a directory above, as one transaction sees them.
///
/// A question costs as much as the path is long, or less if a neighbour was asked about before.
struct PinLookup {
    private let database: Database
    private let hasPins: Bool
    /// The pins of the directories that were met.
    private var known: [InodeNumber: InodeNumber?] = [:]

    init(_ database: Database) throws {
        self.database = database
        hasPins = try database.hasPins()
    }

    mutating func isPinned(_ inode: InodeNumber) throws -> Bool { try pin(of: inode) != nil }

    /// Returns the inode by which one is pinned: itself, or the nearest directory above; nil if it is not.
    mutating func pin(of inode: InodeNumber) throws -> InodeNumber? {
        guard hasPins else { return nil }
        if try database.isPin(inode) { return inode }
        var (current, met): (InodeNumber, [InodeNumber]) = (inode, [])
        var pin: InodeNumber?
        while pin == nil, let parent = try database.dirent(of: current)?.parent {
            if let answer = known[parent] {
                pin = answer
                break
            }
            if try database.isPin(parent) { pin = parent }
            // Also ends the search if a damaged database has directories in a circle.
            known[parent] = .some(pin)
            met.append(parent)
            current = parent
        }
        for directory in met { known[directory] = .some(pin) }
        return pin
    }
}
