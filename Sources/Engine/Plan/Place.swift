import GRDB

/// The place of an operation on the remote.
struct Place: Equatable {
    /// The key of the object, or of the object to be created.
    var key: ObjectKey
    /// The key that it moves to.
    var destination: ObjectKey?
    /// Its parent and name after the operation.
    var parent: InodeNumber
    var name: FileName

    var keys: [ObjectKey] { [key] + (destination.map { [$0] } ?? []) }

    /// Returns the place of a plan; nil if a directory of it is not on the remote.
    static func of(
        _ plan: SyncOperation, _ state: SyncState, _ database: Database
    ) throws -> Place? {
        switch plan {
        case .delete, .setAttributes:
            guard let synced = state.synced, let current = try database.remoteKey(of: state.inode)
            else { return nil }
            return Place(key: current, parent: synced.parent, name: synced.name)
        case .moveToTemporaryName:
            // The root has no parent that could be moving too.
            guard let current = try database.remoteKey(of: state.inode) else { return nil }
            let name = FileName.aside(state.inode, salt: try database.salt())
            return Place(
                key: current, destination: ObjectKey.root.appending(name), parent: .root,
                name: name)
        case .move:
            guard let local = state.local, let current = try database.remoteKey(of: state.inode),
                let parent = try database.remoteKey(of: local.parent)
            else { return nil }
            return Place(
                key: current, destination: parent.appending(local.name), parent: local.parent,
                name: local.name)
        default:
            guard let local = state.local, let parent = try database.remoteKey(of: local.parent)
            else { return nil }
            return Place(
                key: parent.appending(local.name), parent: local.parent, name: local.name)
        }
    }

    /// Returns a directory above either key whose own position on the remote is uncertain.
    func uncertainInode(for state: SyncState, _ database: Database) throws -> InodeNumber? {
        if let former = state.synced?.parent, former != parent,
            let inode = try database.uncertainInode(atOrAbove: former)
        {
            return inode
        }
        return try database.uncertainInode(atOrAbove: parent)
    }
}

extension SyncOperation {
    /// Returns the record of this operation that is stored before it is carried out; nil for an
    /// upload, which stores its own as only it knows the bytes, and for an operation that may be
    /// repeated.
    func intent(_ state: SyncState, at place: Place) -> IntentRecord? {
        let attributes = state.attributes
        var intent = IntentRecord(
            parent: place.parent, name: place.name, size: state.synced?.size ?? 0,
            mode: attributes.mode, extendedAttributes: attributes.extendedAttributes,
            modified: attributes.modified, generation: generation(after: state),
            replaced: nil)
        switch self {
        case .createDirectory, .createSymlink, .setAttributes: return intent
        case .move, .moveToTemporaryName:
            if let synced = state.synced {
                (intent.mode, intent.modified) = (synced.mode, synced.modified)
                intent.extendedAttributes = synced.extendedAttributes
            }
            if case .move(let replaced) = self { intent.replaced = replaced?.inode }
            return intent
        default: return nil
        }
    }

    /// Returns the generation that both sides agree on after an operation that sends no bytes.
    func generation(after state: SyncState) -> Int64 {
        let sendsTime = self == .createDirectory || self == .setAttributes
        let local = sendsTime && state.kind == .directory ? state.local : nil
        return local?.generation ?? state.synced?.generation ?? 0
    }
}

extension SyncState {
    /// The attributes that differ from those that both sides agreed on.
    var changedAttributes: AttributeFields {
        guard let local, let synced else { return .all }
        var fields: AttributeFields = []
        if local.mode != synced.mode { fields.insert(.mode) }
        if local.extendedAttributes != synced.extendedAttributes {
            fields.insert(.extendedAttributes)
        }
        // A directory's modification time changes independently on either side when its names
        // change.
        let isTimeSet =
            kind == .directory
            ? local.generation != synced.generation : local.modified != synced.modified
        if isTimeSet { fields.insert(.modified) }
        return fields
    }

    /// The attributes that are sent with the object.
    var attributes: ObjectAttributes {
        ObjectAttributes(
            modified: local?.modified ?? Timestamp(nanoseconds: 0), mode: local?.mode ?? 0,
            extendedAttributes: local?.extendedAttributes ?? ExtendedAttributes())
    }
}
