import GRDB

/// A listing that is being merged, page by page.
struct ListingMerge {
    let directory: InodeNumber
    let key: ObjectKey
    let activity: RemoteActivity
    let watch: RemoteActivity.Watch
    let names: NameMatching
    /// Whether nothing of the directory was known when it began, so that it can lack nothing, and no
    /// name can be spelled otherwise.
    var isOfUnknown = false
    /// The names of all pages so far, unless ``isOfUnknown``.
    let seen = NameSet()
    /// Objects under other spellings of known names.
    let respelled = RespelledObjects()

    /// Whether an operation of our own has changed a name since the listing began.
    func isTouched(_ name: FileName) -> Bool {
        activity.isTouched(key.appending(name), watch)
    }

    /// Returns those known names that a complete listing lacks, and not because of an operation of
    /// our own.
    ///
    /// - Parameter known: In ascending order of the names.
    func lacking(_ known: [RemoteName]) throws -> [RemoteName] {
        if isOfUnknown { return [] }
        let missing = Set(try seen.missing(among: known.map(\.name)))
        return known.filter { known in
            missing.contains(known.name) && !isTouched(known.name)
                && !respelled.hasKey { names.key(of: known.name) }
        }
    }

    func hasSeen(_ name: FileName) throws -> Bool { try seen.missing(among: [name]).isEmpty }
}

/// The objects of a listing that the remote takes for known ones of other names. Only at the end of
/// the listing, when all names are known, it shows whether they are those.
final class RespelledObjects {
    private(set) var objects: [FileName: RemoteObject] = [:]
    private var keys: Set<FileName> = []

    func insert(_ object: RemoteObject, key: FileName) {
        objects[object.name] = object
        keys.insert(key)
    }

    func hasKey(_ key: () -> FileName) -> Bool { !keys.isEmpty && keys.contains(key()) }
}

/// The differences between a complete listing and the known state, besides those of its pages.
struct ListingEnd {
    /// Known objects that the listing lacks.
    var missing: [RemoteName] = []
    /// New local inodes whose names were on the remote, and that the listing lacks.
    var unseen: [RemoteName] = []
    /// Changed objects under other spellings of known names, and new ones beside them.
    var respelled: [RemoteObject] = []
    /// Whether it is the directory's first complete listing.
    var isFirst = false
    /// Whether deletions in the directory were being held one after the other: all of them are now.
    var isHeld = false

    /// With more leftovers of an interrupted listing, their removal would take too long; the next listing
    /// handles them, as deletions.
    static var leftoversMax: Int { 1_000 }

    var isEmpty: Bool {
        missing.isEmpty && unseen.isEmpty && respelled.isEmpty && !isFirst && !isHeld
    }
}

extension Merge {
    /// Whether nothing of a directory is known, here or on the remote.
    func isUnknown(_ directory: InodeNumber) throws -> Bool {
        try database.inode(directory)?.isListed == false && !database.hasDirents(directory)
            && database.firstSyncedChild(of: directory) == nil
    }

    /// Compares a page of a listing with the known state, without a change.
    ///
    /// The order of a page is arbitrary, so that omitting unchanged objects equals merging them
    /// first.
    ///
    /// - Returns: The objects that ``take(_:_:)`` has to merge; nil if the directory was moved or
    ///   removed since.
    func differences(
        in objects: [RemoteObject], _ listing: ListingMerge
    ) throws -> [RemoteObject]? {
        guard try currentDirectory(of: listing) != nil else { return nil }
        let known = try database.knownObjects(objects.map(\.name), in: listing.directory)
        let different = zip(objects, known).filter { object, known in
            known.map { isUnchanged(object, $0) } != true
        }.map(\.0)
        guard listing.names.isFolding else { return different }
        return try different.filter { try !isRespelled($0, listing) }
    }

    /// Whether the name of an object is known in another spelling only. Such objects are set aside
    /// for the end of the listing.
    private func isRespelled(_ object: RemoteObject, _ listing: ListingMerge) throws -> Bool {
        let namesakes = try database.namesakes(of: object.name, in: listing.directory)
            .filter { $0.side == .agreed }
        guard let first = namesakes.first, !namesakes.contains(where: { $0.name == object.name })
        else { return false }
        listing.respelled.insert(object, key: listing.names.key(of: first.name))
        return true
    }

    /// Returns the inode whose name a listing shows in another spelling; nil if it shows all
    /// spellings that are known, so that this is another object.
    private func respelledInode(
        _ object: RemoteObject, _ listing: ListingMerge
    ) throws -> InodeNumber? {
        try database.namesakes(of: object.name, in: listing.directory).first {
            try $0.side == .agreed && ($0.name == object.name || !listing.hasSeen($0.name))
        }?.inode
    }

    /// Returns the objects under other spellings that ``finish(_:_:)`` has to merge.
    private func changedRespelled(_ listing: ListingMerge) throws -> [RemoteObject] {
        try listing.respelled.objects.values.sorted { $0.name < $1.name }.filter { object in
            guard let inode = try respelledInode(object, listing),
                let record = try database.inode(inode), let synced = try database.synced(inode),
                try !database.isObserved(inode)
            else { return true }
            let known = KnownObject(
                record: record, synced: synced,
                remoteModified: try database.remoteModified(inode))
            return !isUnchanged(object, known)
        }
    }

    /// Merges an object under another spelling of a known name. The local name stays as it is.
    private mutating func takeRespelled(
        _ object: RemoteObject, _ listing: ListingMerge
    ) throws {
        guard !listing.isTouched(object.name),
            try intendedInode(object.name, in: listing.directory) == nil
        else { return }
        guard let inode = try respelledInode(object, listing),
            let name = try database.synced(inode)?.name
        else { return try observe(object, in: listing.directory) }
        var object = object
        object.name = name
        try observe(.object(object), of: inode)
    }

    /// Returns the inode that may have taken a name on the remote, or one that the remote takes for
    /// it.
    private func intendedInode(
        _ name: FileName, in directory: InodeNumber
    ) throws -> InodeNumber? {
        guard gate.traits.names.isFolding else {
            return try database.intendedInode(name, in: directory)
        }
        return try database.namesake(of: name, in: directory, on: .intended)
    }

    /// Merges some objects of a listing.
    ///
    /// - Parameter objects: From the ``differences(in:_:)``, few enough for one transaction.
    /// - Returns: false if the directory was moved or removed since; the objects are then ignored.
    mutating func take(_ objects: [RemoteObject], _ listing: ListingMerge) throws -> Bool {
        guard let directory = try currentDirectory(of: listing) else { return false }
        if !directory.isListed {
            (firstListed, wasFirstMadeHere) = (listing.directory, directory.isMadeHere)
        }
        let hasIntents = try database.firstIntendedChild(of: listing.directory) != nil
        let objects = try objects.filter { object in
            if listing.isTouched(object.name) { return false }
            // Possibly the result of our own request; its verification decides.
            return try !hasIntents
                || intendedInode(object.name, in: listing.directory) == nil
        }
        let (new, known) = try split(objects, in: listing.directory)
        // First, so that no name that a conflict version gets is taken.
        try installNew(new, in: listing.directory)
        for object in known { try observe(object, in: listing.directory) }
        if !directory.isListed { try finishFilling(directory) }
        return true
    }

    /// Separates the objects with names unknown here. Of several objects of one name, the first one
    /// counts as new.
    private func split(
        _ objects: [RemoteObject], in directory: InodeNumber
    ) throws -> (new: [RemoteObject], known: [RemoteObject]) {
        let names = objects.map(\.name)
        let indices = try database.knownNames(names, in: directory)
        let isEachOnce = zip(names, names.dropFirst()).allSatisfy { $0 < $1 }
        if indices.isEmpty, isEachOnce { return (objects, []) }
        var known = Set(indices.map { names[$0] })
        var parts: (new: [RemoteObject], known: [RemoteObject]) = ([], [])
        for object in objects {
            if known.insert(object.name).inserted {
                parts.new.append(object)
            } else {
                parts.known.append(object)
            }
        }
        return parts
    }

    /// Restores the times of a directory that was filled: its first listing does not change it, as seen by
    /// programs such as tar, which compare its times before and after they have read it.
    private mutating func finishFilling(_ directory: InodeRecord) throws {
        var filled = try database.existingInode(directory.id)
        if filled.restoreTimes(of: directory) { try database.update(filled) }
        // The kernel has no listing of it: until it is complete, none is answered.
        changes.cacheChanges.append(.attributes(directory.id))
    }

    /// Returns the end of a complete listing except for the known names that it lacks, without a
    /// change; nil if the directory was moved or removed since.
    func end(of listing: ListingMerge) throws -> ListingEnd? {
        guard let directory = try currentDirectory(of: listing) else { return nil }
        let new = try database.newInodesObserved(in: listing.directory)
        return ListingEnd(
            unseen: try listing.lacking(new), respelled: try changedRespelled(listing),
            isFirst: !directory.isListed, isHeld: try database.isHeldListing(directory.id))
    }

    /// Merges the end of a complete listing.
    ///
    /// - Returns: false if the directory was moved or removed since; nothing is changed then.
    mutating func finish(_ end: ListingEnd, _ listing: ListingMerge) throws -> Bool {
        guard let directory = try currentDirectory(of: listing) else { return false }
        let gone = try listing.stillMissing(end.missing, database)
        if directory.isListed {
            try observeGone(gone)
        } else {
            try observeLeftovers(gone)
            var known = try database.existingInode(directory.id)
            known.isListed = true
            known.restoreTimes(of: directory)
            try database.update(known)
        }
        if end.isHeld { try database.removeHeldListing(directory.id) }
        for object in end.respelled { try takeRespelled(object, listing) }
        // An object that was seen under the name of a new local file, and is gone again, is not a
        // version of that file.
        for new in end.unseen where !listing.isTouched(new.name) {
            guard try !database.isSynced(new.inode) else { continue }
            try database.setRemote(nil, of: new.inode)
            try enqueue([new.inode])
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
            try intendedInode(name, in: listing.directory) == nil
        else { return .unclear }
        // Its listing has ended, or a page of it or another request has found the name.
        if let known = try database.dirent(name, in: listing.directory) {
            if let object { try addMetadata(of: object, to: known.inode, listing) }
            return .found
        }
        if directory.isListed { return .found }
        guard let object else { return .absent }
        // It may have another spelling, under which the listing will show it.
        if listing.names.isFolding { return .unclear }
        firstListed = listing.directory
        try observe(object, in: listing.directory)
        try finishFilling(directory)
        // Before the commit, after which the listing in progress may remove the name.
        listing.activity.noteAnswer(at: listing.key.appending(name))
        // An object that was deleted or renamed here is still on the remote.
        return try database.dirent(name, in: listing.directory) == nil ? .absent : .found
    }

    /// Stores the metadata that a listing lacked, if it is that of the listed version: either answer may be
    /// the older one.
    private mutating func addMetadata(
        of object: RemoteObject, to inode: InodeNumber, _ listing: ListingMerge
    ) throws {
        // A version seen by a listing meanwhile is newer than this answer.
        guard let known = try database.lookedAt(inode), !known.hasIntent, !known.isObserved,
            known.synced.parent == listing.directory, known.synced.name == object.name,
            !listing.activity.isClaimed(listing.key.appending(object.name)),
            object.kind == known.record.kind,
            object.kind != .file || object.etag == known.synced.etag
        else { return }
        _ = try applyMetadata(object, known)
    }

    /// Returns the listed directory; nil if the listing may no longer be of this directory. In the
    /// middle of a move, a missing name proves nothing.
    func currentDirectory(of listing: ListingMerge) throws -> InodeRecord? {
        guard !listing.activity.isMoved(listing.watch),
            try database.remoteKey(of: listing.directory) == listing.key,
            try database.uncertainInode(atOrAbove: listing.directory) == nil,
            let directory = try database.inode(listing.directory), directory.links > 0
        else { return nil }
        return directory
    }

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

extension InodeRecord {
    /// Sets the times to those of an earlier state.
    ///
    /// - Returns: Whether they differed.
    @discardableResult
    fileprivate mutating func restoreTimes(of former: InodeRecord) -> Bool {
        guard (modified, changed) != (former.modified, former.changed) else { return false }
        (modified, changed) = (former.modified, former.changed)
        return true
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
