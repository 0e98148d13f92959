import GRDB

/// Visits all that is at and below some inodes, a page of a directory at a time.
///
/// Its memory depends on the depth of the tree and the number of roots. It sees each directory at a moment of its
/// own: what is moved meanwhile may be missed, or seen twice.
struct PinWalk {
    enum Step {
        /// A directory whose names come next, or the one that contains a root.
        case directory(InodeNumber, isListed: Bool)
        case files([PinnedFile])
    }

    private enum Place {
        /// A root, or a directory below one.
        case inode(InodeNumber)
        case directory(InodeNumber, after: Int64)
        case file(InodeNumber)
    }

    /// The names read with one query.
    private static var pageNames: Int { 256 }

    /// In reverse order.
    private var places: [Place]
    /// The directories of roots, each of which is visited once.
    private var parents: Set<InodeNumber> = []

    init(_ roots: [InodeNumber]) {
        places = roots.reversed().map { .inode($0) }
    }

    /// Returns the next step; nil at the end.
    mutating func next(_ database: Database) throws -> Step? {
        while let place = places.popLast() {
            switch place {
            case .inode(let inode):
                if let step = try enter(inode, database) { return step }
            case .file(let inode):
                guard let record = try database.inode(inode), record.links > 0 else { continue }
                return .files(try [PinnedFile(record, database)].compactMap(\.self))
            case .directory(let directory, let cookie):
                return .files(try files(of: directory, after: cookie, database))
            }
        }
        return nil
    }

    private mutating func enter(_ inode: InodeNumber, _ database: Database) throws -> Step? {
        guard let record = try database.inode(inode), record.links > 0 else { return nil }
        if record.kind == .directory {
            places.append(.directory(inode, after: 0))
            return .directory(inode, isListed: record.isListed)
        }
        places.append(.file(inode))
        guard let parent = try database.dirent(of: inode)?.parent,
            parents.insert(parent).inserted
        else { return nil }
        return .directory(parent, isListed: true)
    }

    private mutating func files(
        of directory: InodeNumber, after cookie: Int64, _ database: Database
    ) throws -> [PinnedFile] {
        let page = try database.entries(of: directory, after: cookie, limit: Self.pageNames)
        if page.count == Self.pageNames, let last = page.last {
            places.append(.directory(directory, after: last.0.cookie))
        }
        places += page.reversed().filter { $0.1.kind == .directory }.map { .inode($0.1.id) }
        return try page.compactMap { try PinnedFile($0.1, database) }
    }
}

/// A file at or below a pinned inode, as the database has it.
struct PinnedFile {
    var inode: InodeNumber
    var size: UInt64
    var isWhole: Bool
    /// The space that its local bytes take.
    var bytesHere: UInt64

    /// - Returns: nil unless it is a file.
    fileprivate init?(_ record: InodeRecord, _ database: Database) throws {
        guard record.kind == .file else { return nil }
        inode = record.id
        size = record.size
        isWhole = record.presence == .whole || record.size == 0
        bytesHere = record.presence == .partial ? try database.localBytes(of: record.id) : 0
    }

    /// The space that it takes when it is whole.
    var bytes: UInt64 { (size + 4_095) / 4_096 * 4_096 }
}
