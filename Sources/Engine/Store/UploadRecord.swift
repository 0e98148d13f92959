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
        try row(
            "SELECT generation, key, base, token FROM uploads WHERE inode = ?", [inode],
            UploadRecord.init)
    }

    func setUpload(_ upload: UploadRecord, of inode: InodeNumber) throws {
        let base: ETag? = if case .version(let etag) = upload.base { etag } else { nil }
        try run(
            "INSERT OR REPLACE INTO uploads VALUES (?, ?, ?, ?, ?)",
            [inode, upload.generation, upload.key, base, upload.token])
    }

    func removeUpload(of inode: InodeNumber) throws {
        try run("DELETE FROM uploads WHERE inode = ?", [inode])
    }

    /// Returns uploads that will not be resumed, as their inodes are no longer pending.
    func forsakenUploads(limit: Int) throws -> [(InodeNumber, UploadRecord)] {
        try rows(
            """
            SELECT generation, key, base, token, inode FROM uploads
            WHERE inode NOT IN (SELECT inode FROM pending) ORDER BY random() LIMIT ?
            """, [limit]
        ) { ($0[4], UploadRecord($0)) }
    }
}

extension UploadRecord {
    fileprivate init(_ row: StatementRow) {
        let base: ETag? = row[2]
        self.init(
            generation: row[0], key: row[1], base: base.map { .version($0) } ?? .absent,
            token: row[3])
    }
}
