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
        return try Row.fetchOne(statement, arguments: [inode.rawValue]).map(UploadRecord.init)
    }

    func setUpload(_ upload: UploadRecord, of inode: InodeNumber) throws {
        let base: String? =
            if case .version(let etag) = upload.base { etag.description } else { nil }
        try cachedStatement(sql: "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?, ?)")
            .execute(arguments: [
                inode.rawValue, upload.generation,
                Data(upload.key.names.map(\.bytes).joined(separator: [UInt8(ascii: "/")])),
                base, upload.token.rawValue,
            ])
    }

    func removeUpload(of inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM uploads WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
    }

    /// Returns uploads that will not be resumed, as their inodes are no longer pending.
    func forsakenUploads(limit: Int) throws -> [(InodeNumber, UploadRecord)] {
        let statement = try cachedStatement(
            sql: """
                SELECT generation, key, base, token, inode FROM uploads
                WHERE inode NOT IN (SELECT inode FROM pending) ORDER BY random() LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [limit])
            .map { (InodeNumber(rawValue: $0[4]), UploadRecord($0)) }
    }
}

extension UploadRecord {
    fileprivate init(_ row: Row) {
        generation = row[0]
        let bytes = [UInt8](row[1] as Data)
        key = ObjectKey(
            bytes.split(separator: UInt8(ascii: "/")).map { FileName(stored: Array($0)) })
        base = (row[2] as String?).map { .version(ETag($0)) } ?? .absent
        token = UploadToken(row[3])
    }
}
