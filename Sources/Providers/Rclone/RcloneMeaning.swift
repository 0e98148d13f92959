import Engine

/// What the answers of one remote mean to the engine.
struct RcloneMeaning: Sendable {
    let keepsEmptyDirectories: Bool
    /// The hash that the remote is asked for, if there is one.
    let cheapHash: String?

    /// What rclone itself shows for a time that it does not know: the year 2000.
    private static let unknownTime = Timestamp(seconds: 946_684_800)

    /// Some clouds hold several objects of one name: the newest stands for them all. Where one of them
    /// is a file of unknown size, none does.
    func objects(in items: [RcloneItem]) -> [RemoteObject] {
        let unsized = unsizedNames(in: items)
        var found: [FileName: RemoteObject] = [:]
        for item in items {
            guard let name = RcloneName.decode(item.name), !unsized.contains(name),
                let object = object(item, name: name)
            else { continue }
            if let other = found[name], other.modified >= object.modified { continue }
            found[name] = object
        }
        return Array(found.values)
    }

    /// The names of files that may be of any size.
    func unsizedNames(in items: [RcloneItem]) -> Set<FileName> {
        Set(items.filter { !$0.isSized }.compactMap { RcloneName.decode($0.name) })
    }

    /// - Returns: nil for a file of unknown size: taken for an empty one, it would be overwritten with
    ///   what is appended to nothing.
    func object(_ item: RcloneItem, name: FileName) -> RemoteObject? {
        guard item.isSized else { return nil }
        let isFile = !item.isDirectory
        let size = isFile ? UInt64(item.size) : 0
        // A directory that is but a part of names would have another time whenever it is looked at.
        let hasTime = isFile || keepsEmptyDirectories
        let modified = (hasTime ? RcloneTime.parse(item.modified) : nil) ?? Self.unknownTime
        return RemoteObject(
            name: name, kind: isFile ? .file : .directory,
            etag: isFile ? etag(item, size: size, modified: modified) : nil,
            size: size, modified: modified, mode: nil)
    }

    /// What tells versions apart, as far as the cloud lets us know without reading the file.
    private func etag(_ item: RcloneItem, size: UInt64, modified: Timestamp) -> ETag {
        let hash = cheapHash.flatMap { item.hashes?[$0] } ?? ""
        return ETag("\(size)-\(modified.nanoseconds)-\(item.id ?? "")-\(hash)")
    }

    static func space(_ about: RcloneAbout) -> StorageSpace? {
        let free = about.free.flatMap { UInt64(exactly: $0) }
        let used = about.used.flatMap { UInt64(exactly: $0) }
        let total = about.total.flatMap { UInt64(exactly: $0) }
        // Where nothing bounds what is kept, only what is used is told.
        let sum = used.flatMap { used in free.map { used &+ $0 } }
        guard let total = total ?? sum ?? free ?? used.map({ _ in StorageSpace.unknown.totalBytes })
        else { return nil }
        // A disk keeps some back for root: that is neither used nor to be had.
        let unused = used.map { total - min(total, $0) }
        let available = min(free ?? unused ?? total, total)
        return StorageSpace(
            totalBytes: total, freeBytes: max(unused ?? available, available),
            availableBytes: available)
    }
}
