import Engine
import ProviderSupport

/// Translates the answers of one remote into the engine's types.
struct RcloneMeaning: Sendable {
    let keepsEmptyDirectories: Bool
    /// The hash that the remote is asked for, if any.
    let cheapHash: String?

    /// The time that rclone itself shows for an unknown one: the year 2000.
    private static let unknownTime = Timestamp(seconds: 946_684_800)

    /// - Returns: nil for a file of unknown size: shown as empty, it would lose its contents with the
    ///   first line that a program appends to it.
    func object(_ item: RcloneItem, name: FileName) -> RemoteObject? {
        guard item.isSized else { return nil }
        let isFile = !item.isDirectory
        let size = isFile ? UInt64(item.size) : 0
        // A directory that is only a part of file names would show another time at each look.
        let hasTime = isFile || keepsEmptyDirectories
        let modified = (hasTime ? Timestamp(rfc3339: item.modified) : nil) ?? Self.unknownTime
        return RemoteObject(
            name: name, kind: isFile ? .file : .directory,
            etag: isFile ? etag(item, size: size, modified: modified) : nil,
            size: size, modified: modified, mode: nil)
    }

    /// Combines all that distinguishes versions and that the cloud tells without reading the file.
    private func etag(_ item: RcloneItem, size: UInt64, modified: Timestamp) -> ETag {
        let hash = cheapHash.flatMap { item.hashes?[$0] } ?? ""
        return ETag("\(size)-\(modified.nanoseconds)-\(item.id ?? "")-\(hash)")
    }

    /// The hash in an etag made here, if it has one.
    private static func hash(of etag: ETag) -> Substring? {
        let last = etag.description.split(separator: "-", omittingEmptySubsequences: false).last
        return last.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The size in an etag made here.
    static func size(of etag: ETag) -> UInt64? {
        etag.description.split(separator: "-").first.flatMap { UInt64($0) }
    }

    /// Whether two etags prove equal bytes, whatever their times: by a hash that does not collide by
    /// chance.
    func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        guard let cheapHash, cheapHash != "crc32", let hash = Self.hash(of: former) else {
            return former == etag
        }
        return Self.hash(of: etag) == hash && Self.size(of: former) == Self.size(of: etag)
    }

    /// Whether two objects agree in everything known about their bytes.
    static func mayHoldSame(_ one: RemoteObject, _ other: RemoteObject) -> Bool {
        guard one.kind == other.kind, one.size == other.size else { return false }
        let hashes = [one, other].compactMap { $0.etag.flatMap(hash(of:)) }
        return hashes.count < 2 || hashes[0] == hashes[1]
    }

    static func space(_ about: RcloneAbout) -> StorageSpace? {
        let free = about.free.flatMap { UInt64(exactly: $0) }
        let used = about.used.flatMap { UInt64(exactly: $0) }
        let total = about.total.flatMap { UInt64(exactly: $0) }
        // A remote without a quota tells only the space in use.
        let sum = used.flatMap { used in free.map { used &+ $0 } }
        guard let total = total ?? sum ?? free ?? used.map({ _ in StorageSpace.unknown.totalBytes })
        else { return nil }
        // A disk reserves some space for root, which is neither used nor available.
        let unused = used.map { total - min(total, $0) }
        let available = min(free ?? unused ?? total, total)
        return StorageSpace(
            totalBytes: total, freeBytes: max(unused ?? available, available),
            availableBytes: available)
    }
}
