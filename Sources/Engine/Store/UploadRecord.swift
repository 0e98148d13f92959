import Foundation
import GRDB

/// One row of `uploads`: an unfinished upload, which can be resumed as long as the same bytes are
/// to go to the same key over the same version.
struct UploadRecord: Hashable {
    /// The ``InodeRecord/generation`` of the bytes that are sent.
    var generation: Int64
    var key: ObjectKey
    var base: BaseVersion
    var token: UploadToken

    /// Whether this is an upload of the same bytes to the same place as `other`.
    func continues(_ other: UploadRecord) -> Bool {
        generation == other.generation && key == other.key && base == other.base
    }
}

extension Database {
    func upload(of inode: InodeNumber) throws -> UploadRecord? {
        let statement = try cachedStatement(
            sql: "SELECT generation, key, base, token FROM uploads WHERE inode = ?")
        return try UploadRecord.fetchOne(statement, arguments: [inode])
    }

    func setUpload(_ upload: UploadRecord, of inode: InodeNumber) throws {
        let base: ETag? = if case .version(let etag) = upload.base { etag } else { nil }
        try cachedStatement(sql: "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [
                inode, upload.generation,
                Data(upload.key.names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])),
                base, upload.token,
            ])
    }

    func removeUpload(of inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM uploads WHERE inode = ?")
            .execute(arguments: [inode])
    }

    /// Returns uploads that will not be resumed, as their inodes are no longer pending.
    func forsakenUploads(limit: Int) throws -> [(InodeNumber, UploadRecord)] {
        let statement = try cachedStatement(
            sql: """
                SELECT generation, key, base, token, inode FROM uploads
                WHERE inode NOT IN (SELECT inode FROM pending) ORDER BY random() LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [limit])
            .map { ($0["inode"], UploadRecord(row: $0)) }
    }
}

extension UploadRecord: FetchableRecord {
    init(row: Row) {
        generation = row["generation"]
        let bytes = [UInt8](row["key"] as Data)
        key = ObjectKey(
            bytes.split(separator: UInt8(ascii: "/")).map { FileName(stored: Array($0)) })
        base = (row["base"] as ETag?).map { .version($0) } ?? .absent
        token = row["token"]
    }
}
