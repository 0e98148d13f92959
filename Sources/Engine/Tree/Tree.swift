import GRDB

/// Names, attributes, extended attributes and symbolic links, as rows of the database.
struct Tree: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let traits: ProviderTraits
    let files: OpenFileTable
    let space: Space
    let agenda: Agenda

    /// Returns names of a directory, with their inodes, as a query finds them.
    ///
    /// - Throws: `.notDirectory`; waits for the first listing of the directory.
    func entries(
        of directory: InodeNumber, _ query: (Database) throws -> [(Dirent, InodeRecord)]
    ) throws(Blocked) -> [(Dirent, InodeRecord)] {
        try store.read { database in
            // A directory that was removed while open has no entries.
            let inode = try database.existingInode(directory)
            guard inode.kind == .directory else {
                throw Blocked.failure(.notDirectory, "list inode \(directory)")
            }
            if inode.links == 0 { return [] }
            guard inode.isListed else { throw Blocked.awaits(.listing(directory)) }
            return try query(database)
        }
    }

    /// Returns the current attributes of an inode: for a file that is being written, the open file
    /// has newer values for size and time than the row.
    func current(_ record: InodeRecord) throws(Blocked) -> Attributes {
        var record = record
        // The last writer may close between reading the row and the open file. Then the next row,
        // or the next writer's open file, is current.
        while record.kind == .file, record.isWriting {
            if let written = files.existing(record.id)?.writtenState {
                var attributes = attributes(record)
                attributes.size = written.size
                attributes.modified = written.modified
                attributes.changed = max(attributes.changed, written.changed)
                return attributes
            }
            let id = record.id
            let isAbandoned = files.existing(id) == nil
            guard let row = try store.readBriefly({ try $0.inode(id) }) else { break }
            record = row
            if isAbandoned, files.existing(id) == nil { break }
        }
        return attributes(record)
    }

    private func attributes(_ record: InodeRecord) -> Attributes {
        var attributes = record.attributes
        if traits.trustsListings { attributes.isProvisional = false }
        attributes.isKindProvisional =
            attributes.isProvisional && record.kind == .file && !traits.listsMetadata
        return attributes
    }

    /// Stores the changes of attributes except the size.
    func setAttributes(
        of inode: InodeNumber, to change: AttributeChange
    ) throws(Blocked) -> Attributes {
        let now = clock.wallTime
        let modified: Timestamp? =
            switch change.modified {
            case .now: now
            case .at(let time): time
            case nil: nil
            }
        if let file = files.existing(inode) {
            let areTimesKept = try file.withState { state throws(Blocked) in
                if let modified { try keep(modified, inode, &state) }
                if state.areTimesStoredAtClose { state.changed = max(state.changed, now) }
                return state.areTimesStoredAtClose
            }
            if areTimesKept, let record = try unchanged(inode, by: change) {
                return try current(record)
            }
        }
        let due = agenda.due(after: configuration.settleTime)
        let record = try store.write { database in
            let former = try database.existingInode(inode)
            var record = former
            record.mode = change.mode.map { $0 & 0o7777 } ?? record.mode
            if change.clearsSetID, record.kind == .file { record.mode = record.mode.withoutSetID }
            record.userID = change.userID ?? record.userID
            record.groupID = change.groupID ?? record.groupID
            record.modified = modified ?? record.modified
            // For a directory only explicitly set times are uploaded, not those of its changes.
            if modified != nil, record.kind == .directory { record.generation += 1 }
            record.changed = now
            try database.update(record, from: former)
            try database.keepSet(
                mode: change.mode.map { $0 & 0o7777 }, modified: modified, of: former)
            try database.record(.changed, on: .local, inode, at: now)
            if record.isWriting {
                // Its last writer's close makes it due.
                try database.markPending(inode, at: now, dueIfNew: due)
            } else {
                try database.markPending(record, at: now, due: due)
            }
            return record
        }
        files.existing(inode)?.noteNewMode()
        agenda.notify(due: due)
        return try current(record)
    }

    /// Keeps the time of a file that is being written with its content, to be stored at its release.
    private func keep(
        _ modified: Timestamp, _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) {
        state.modified = modified
        guard state.isMarkedWriting else { return }
        try onDisk("set the time of inode \(inode)", do: state.file.setModified(modified))
    }

    /// Returns a file that is being written, of which a change alters no more than its times.
    private func unchanged(
        _ inode: InodeNumber, by change: AttributeChange
    ) throws(Blocked) -> InodeRecord? {
        let record = try store.readBriefly { try $0.existingInode(inode) }
        let mode = change.clearsSetID ? record.mode.withoutSetID : record.mode
        let isSame =
            record.mode == mode && mode == change.mode.map { $0 & 0o7777 } ?? mode
            && record.userID == change.userID ?? record.userID
            && record.groupID == change.groupID ?? record.groupID
        // The time of a file whose metadata is not known has to be told from that which the remote has.
        return isSame && record.isWriting && record.hasMetadata ? record : nil
    }

    /// The maximum size of all names of one inode. Linux: `XATTR_LIST_MAX`.
    private static var listBytesMax: Int { 65_536 }

    /// The maximum size of all attributes of one inode on this machine, regardless of the store's
    /// limit.
    private static var attributesBytesMax: Int { 1 << 20 }

    func extendedAttributes(of inode: InodeNumber) throws(Blocked) -> ExtendedAttributes {
        try store.readBriefly { database in
            _ = try detailedInode(inode, database)
            return try database.extendedAttributes(of: inode)
        }
    }

    func setExtendedAttribute(
        _ name: [UInt8], to value: [UInt8]?, _ change: ExtendedAttributeChange,
        of inode: InodeNumber
    ) throws(Blocked) {
        let attempt = "set \(String(decoding: name, as: UTF8.self)) of inode \(inode)"
        try configuration.requireWritable(attempt)
        guard ExtendedAttributes.isKept(name) else { throw .failure(.unsupported, attempt) }
        guard (value?.count ?? 0) <= ExtendedAttributes.valueBytesMax else {
            throw .failure(.tooLarge, attempt)
        }
        if let value { try space.reserve(for: UInt64(value.count), attempt) }
        let now = clock.wallTime
        let due = agenda.due(after: configuration.settleTime)
        try store.write { database in
            let record = try detailedInode(inode, database)
            guard record.kind != .symlink else { throw Blocked.failure(.unsupported, attempt) }
            var attributes = try database.extendedAttributes(of: inode)
            let isThere = attributes[name] != nil
            if isThere, change == .create { throw Blocked.failure(.exists, attempt) }
            if !isThere, value == nil || change == .replace { throw Self.noAttribute(name, inode) }
            attributes[name] = value
            if value != nil { try requireSpace(for: attributes, attempt) }
            try database.setExtendedAttributes(attributes, of: inode)
            try database.touchChanged(inode, at: now)
            try database.record(.changed, on: .local, inode, at: now)
            try database.markPending(record, at: now, due: due)
        }
        agenda.notify(due: due)
    }

    /// Returns an inode with complete remote metadata.
    private func detailedInode(_ inode: InodeNumber, _ database: Database) throws -> InodeRecord {
        let record = try database.existingInode(inode)
        if try database.lacksMetadata(record, traits) { throw Blocked.awaits(.details(inode)) }
        return record
    }

    /// - Throws: `.outOfSpace` if the attributes exceed the limit, here or on the remote.
    private func requireSpace(for attributes: ExtendedAttributes, _ attempt: String) throws(Blocked)
    {
        let names = attributes.names
        let listBytes = names.reduce(names.count) { $0 + $1.count }
        guard listBytes <= Self.listBytesMax, attributes.byteCount <= Self.attributesBytesMax else {
            throw .failure(.outOfSpace, attempt)
        }
        guard let space = traits.extendedAttributes else { return }
        guard space.bytes(attributes) <= space.bytesMax else {
            throw .failure(
                .outOfSpace, attempt,
                remedy: "\(traits.name) keeps at most \(space.bytesMax) bytes per file")
        }
    }

    static func noAttribute(_ name: [UInt8], _ inode: InodeNumber) -> Blocked {
        .failure(
            .noAttribute, "find \(String(decoding: name, as: UTF8.self)) of inode \(inode)")
    }
}

/// An inode that has just lost its last name.
struct Removal {
    var inode: InodeNumber
    /// Whether the remote has it, as far as known.
    var isOnRemote: Bool
    /// Whether any of its bytes may be local.
    var hasContent: Bool
    /// Whether the remote had another object of that name, which only a listing shows now.
    var hasUncovered: Bool
}

/// The result of giving an inode another name.
struct Renaming {
    /// The inode that was replaced.
    var replaced: InodeNumber?
    /// The directories in which the remote had another object of the former or of the new name, which only a
    /// listing shows now.
    var uncovered: [InodeNumber] = []
}
