import Synchronization

extension Tree {
    /// The attributes of an inode as they are now: a file that is being written knows its size and
    /// time better than the row that was read.
    func current(_ record: InodeRecord) throws(Halt) -> Attributes {
        var record = record
        // Its last writer may close between the reading of the row and the look at the open file.
        // The row that is read then, or the next writer's file, knows.
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
            attributes.isProvisional && record.kind == .file && !traits.listsDetails
        return attributes
    }
}
