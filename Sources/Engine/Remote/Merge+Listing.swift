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
}

extension Merge {
    /// Merges a page of a listing.
    ///
    /// - Returns: false if the directory was moved or removed since; the page is then ignored.
    mutating func take(
        _ objects: [RemoteObject], isLast: Bool, _ listing: inout ListingMerge
    ) throws -> Bool {
        // In a directory that may be in the middle of a move, a missing name proves nothing.
        guard !listing.activity.isMoved(listing.watch),
            try database.remoteKey(of: listing.directory) == listing.key,
            try database.uncertainInode(atOrAbove: listing.directory) == nil,
            let directory = try database.inode(listing.directory), directory.links > 0
        else { return false }
        for object in objects {
            listing.seen.insert(object.name)
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
        let gone = try database.syncedChildren(of: listing.directory).filter { _, name in
            !listing.seen.contains(name) && !listing.isTouched(name)
        }.map(\.inode)
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
        for (name, inode) in try database.newInodesObserved(in: listing.directory)
        where !listing.seen.contains(name)
            && !listing.isTouched(name)
        {
            try database.setRemote(nil, of: inode)
            try enqueue([inode])
        }
        return true
    }

    /// With more leftovers of an interrupted listing, this would take too long; the next listing
    /// handles them, as deletions.
    private static var leftoversMax: Int { 1_000 }

    /// Removes the names from interrupted listings that are missing from the first complete one.
    /// Those never covered the whole directory, so a missing name is not a deletion that needs caution,
    /// unless some of its content is local.
    private mutating func observeLeftovers(
        _ gone: [InodeNumber]
    ) throws {
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
