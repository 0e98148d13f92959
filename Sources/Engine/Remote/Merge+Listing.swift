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
    /// Takes a page of a listing into the database.
    ///
    /// - Returns: false if the directory was moved or removed since; then the page is ignored.
    mutating func take(
        _ objects: [RemoteObject], isLast: Bool, _ listing: inout ListingMerge
    ) throws -> Bool {
        // Of a directory that may be half-way to another place nothing is known to be gone.
        guard !listing.activity.isMoved(listing.watch),
            try database.remoteKey(of: listing.directory) == listing.key,
            try database.uncertainInode(atOrAbove: listing.directory) == nil,
            let directory = try database.inode(listing.directory), directory.links > 0
        else { return false }
        for object in objects {
            listing.seen.insert(object.name)
            if listing.isTouched(object.name) { continue }
            // Perhaps it is ours; who asked for it finds out.
            if try database.attemptingInode(object.name, in: listing.directory) != nil { continue }
            try observe(object, in: listing.directory)
        }
        if !directory.isListed {
            // To become known is no change.
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
        // What was seen under the name of a file that is new here, and is gone again, is none
        // of its versions.
        for (name, inode) in try database.newInodesObserved(in: listing.directory)
        where !listing.seen.contains(name)
            && !listing.isTouched(name)
        {
            try database.setRemote(nil, of: inode)
            changes.pending.append(inode)
        }
        return true
    }

    /// More than so many names that a cut listing left would take too long here: the next listing
    /// sees to them, as deletions.
    private static var leftoversMax: Int { 1_000 }

    /// What listings brought that did not come to their end, and is not in one that did. They were
    /// never all that there is, so that something is missing is no deletion to be careful with,
    /// unless some of it is here.
    private mutating func observeLeftovers(
        _ gone: [InodeNumber]
    ) throws {
        let bare = Set(try gone.filter { try isBare($0) })
        for inode in gone where bare.contains(inode) {
            try observe(.gone, of: inode)
        }
        try observeGone(gone.filter { !bare.contains($0) })
    }

    /// Whether nothing of an inode is here but its name.
    private func isBare(_ inode: InodeNumber) throws -> Bool {
        guard let record = try database.inode(inode) else { return false }
        return switch record.kind {
        case .file: record.presence == .remote
        case .directory: try !record.isListed && !database.hasDirents(inode)
        case .symlink: true
        }
    }
}
