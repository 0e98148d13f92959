import GRDB

/// A listing that is being merged, page by page.
struct ListingMerge {
    let directory: InodeNumber
    let key: ObjectKey
    let activity: RemoteActivity
    let watch: RemoteActivity.Watch
    /// The names of all pages so far.
    var seen: Set<FileName> = []

    /// Whether an operation of our own has changed a name since the listing began.
    func isTouched(_ name: FileName) -> Bool {
        activity.isTouched(key.appending(name), watch)
    }

    /// Whether a complete listing lacks a name, and not because of an operation of our own.
    func lacks(_ name: FileName) -> Bool {
        !seen.contains(name) && !isTouched(name)
    }
}

extension Merge {
    /// Compares a page of a listing with the known state, without a change.
    ///
    /// The order of a page is arbitrary, so that omitting unchanged objects equals merging them
    /// first.
    ///
    /// - Returns: The objects that ``take(_:isLast:_:)`` has to merge; nil if the page changes
    ///   nothing.
    func differences(
        in objects: [RemoteObject], isLast: Bool, _ listing: ListingMerge
    ) throws -> [RemoteObject]? {
        guard let directory = try currentDirectory(of: listing) else { return objects }
        let known = try database.knownObjects(objects.map(\.name), in: listing.directory)
        let differing = zip(objects, known).filter { object, known in
            known.map { isUnchanged(object, $0) } != true
        }.map(\.0)
        if !differing.isEmpty { return differing }
        guard isLast else { return nil }
        let isAllKnown =
            try directory.isListed && missingInodes(in: listing).isEmpty
            && newInodesUnseen(in: listing).isEmpty
        return isAllKnown ? nil : []
    }

    /// Merges a page of a listing.
    ///
    /// - Parameter objects: The ``differences(in:isLast:_:)``.
    /// - Returns: false if the directory was moved or removed since; the page is then ignored.
    mutating func take(
        _ objects: [RemoteObject], isLast: Bool, _ listing: ListingMerge
    ) throws -> Bool {
        guard let directory = try currentDirectory(of: listing) else { return false }
        for object in objects {
            if listing.isTouched(object.name) { continue }
            // Possibly the result of our own request; its verification decides.
            if try database.intendedInode(object.name, in: listing.directory) != nil { continue }
            try observe(object, in: listing.directory)
        }
        if !directory.isListed {
            // Listing a directory for the first time does not modify it.
            var filled = try database.existingInode(listing.directory)
            filled.modified = directory.modified
            try database.update(filled)
        }
        guard isLast else { return true }
        let gone = try missingInodes(in: listing)
        if directory.isListed {
            try observeGone(gone)
        } else {
            if gone.count <= Self.leftoversMax {
                try observeLeftovers(gone)
            }
            var known = try database.existingInode(listing.directory)
            known.isListed = true
            known.modified = directory.modified
            try database.update(known)
        }
        // An object that was seen under the name of a new local file, and is gone again, is not a
        // version of that file.
        for inode in try newInodesUnseen(in: listing) {
            try database.setRemote(nil, of: inode)
            try enqueue([inode])
        }
        return true
    }

    /// Merges the answer to a question for one name of a directory.
    ///
    /// - Parameters:
    ///   - object: nil if the remote has no object of that name.
    ///   - listing: Begun before the question was sent.
    mutating func take(
        _ object: RemoteObject?, named name: FileName, _ listing: ListingMerge
    ) throws -> NameAnswer {
        guard let directory = try currentDirectory(of: listing), !listing.isTouched(name),
            object?.name ?? name == name,
            try database.intendedInode(name, in: listing.directory) == nil
        else { return .unclear }
        // Its listing has ended, or another request has found the name.
        if directory.isListed { return .found }
        if try database.dirent(name, in: listing.directory) != nil { return .found }
        guard let object else { return .absent }
        try observe(object, in: listing.directory)
        var filled = try database.existingInode(listing.directory)
        filled.modified = directory.modified
        try database.update(filled)
        // Before the commit, after which the listing in progress may remove the name.
        listing.activity.noteAnswer(at: listing.key.appending(name))
        // An object that was deleted or renamed here is still on the remote.
        return try database.dirent(name, in: listing.directory) == nil ? .absent : .found
    }

    /// Returns the listed directory; nil if the listing may no longer be of this directory. In the
    /// middle of a move, a missing name proves nothing.
    private func currentDirectory(of listing: ListingMerge) throws -> InodeRecord? {
        guard !listing.activity.isMoved(listing.watch),
            try database.remoteKey(of: listing.directory) == listing.key,
            try database.uncertainInode(atOrAbove: listing.directory) == nil,
            let directory = try database.inode(listing.directory), directory.links > 0
        else { return nil }
        return directory
    }

    /// Returns the known objects that a complete listing lacks.
    private func missingInodes(in listing: ListingMerge) throws -> [InodeNumber] {
        try database.syncedChildren(of: listing.directory)
            .filter { listing.lacks($0.name) }.map(\.inode)
    }

    /// Returns new local inodes whose names were on the remote, and are missing in a complete listing.
    private func newInodesUnseen(in listing: ListingMerge) throws -> [InodeNumber] {
        try database.newInodesObserved(in: listing.directory)
            .filter { listing.lacks($0.name) }.map(\.inode)
    }

    /// With more leftovers of an interrupted listing, this would take too long; the next listing
    /// handles them, as deletions.
    private static var leftoversMax: Int { 1_000 }

    /// Removes the names from interrupted listings that are missing from the first complete one.
    /// Those never covered the whole directory, so a missing name is not a deletion that needs caution,
    /// unless some of its content is local.
    private mutating func observeLeftovers(_ gone: [InodeNumber]) throws {
        let bare = Set(try gone.filter { try isBare($0) })
        for inode in gone where bare.contains(inode) {
            try observe(.gone, of: inode)
        }
        try observeGone(gone.filter { !bare.contains($0) })
    }

    /// Whether nothing of an inode is local except its name.
    private func isBare(_ inode: InodeNumber) throws -> Bool {
        guard let record = try database.inode(inode) else { return false }
        return switch record.kind {
        case .file: record.presence == .remote
        case .directory: try !record.isListed && !database.hasDirents(inode)
        case .symlink: true
        }
    }
}

/// The meaning of an answer about one name.
enum NameAnswer {
    /// The name is known by now, or the whole directory.
    case found
    case absent
    /// The answer proves nothing, because an operation of our own may have outdated it.
    case unclear
}
