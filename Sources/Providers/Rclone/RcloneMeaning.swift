import Engine

/// What the answers of one remote mean to the engine.
struct RcloneMeaning: Sendable {
    let keepsEmptyDirectories: Bool
    /// The hash that the remote is asked for, if there is one.
    let cheapHash: String?

    /// What rclone itself shows for a time that it does not know: the year 2000.
    private static let unknownTime = Timestamp(seconds: 946_684_800)

    /// Some clouds hold several objects of one name: the newest stands for them all.
    func objects(in items: [RcloneItem]) -> [RemoteObject] {
        var found: [FileName: RemoteObject] = [:]
        for item in items {
            guard let name = RcloneName.decode(item.name) else { continue }
            let object = object(item, name: name)
            if let other = found[name], other.modified >= object.modified { continue }
            found[name] = object
        }
        return Array(found.values)
    }

    func object(_ item: RcloneItem, name: FileName) -> RemoteObject {
        let size = UInt64(max(0, item.size))
        let isFile = !item.isDirectory
        // A directory that is but a part of names would have another time whenever it is looked at.
        let hasTime = isFile || keepsEmptyDirectories
        let modified = (hasTime ? RcloneTime.parse(item.modified) : nil) ?? Self.unknownTime
        return RemoteObject(
            name: name, kind: isFile ? .file : .directory,
            etag: isFile ? etag(item, size: size, modified: modified) : nil,
            size: isFile ? size : 0, modified: modified, mode: nil)
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
        let available = free ?? total - min(total, used ?? 0)
        return StorageSpace(totalBytes: total, availableBytes: min(available, total))
    }
}
