/// Names, attributes, extended attributes and symbolic links, as rows of the database.
struct Tree: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let traits: ProviderTraits
    let files: OpenFileTable
    let space: Space
    let agenda: Agenda

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
                attributes.changed = max(attributes.changed, written.modified)
                return attributes
            }
            let id = record.id
            let isAbandoned = files.existing(id) == nil
            guard let row = try store.read({ try $0.inode(id) }) else { break }
            record = row
            if isAbandoned, files.existing(id) == nil { break }
        }
        return attributes(record)
    }

    private func attributes(_ record: InodeRecord) -> Attributes {
        var attributes = record.attributes
        attributes.isKindProvisional =
            attributes.isProvisional && record.kind == .file && !traits.listsMetadata
        return attributes
    }
}

/// An inode that has just lost its last name.
struct Removal {
    var inode: InodeNumber
    /// Whether the remote has it, as far as known.
    var isOnRemote: Bool
}
