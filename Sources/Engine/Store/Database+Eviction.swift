import GRDB

extension Database {
    /// Returns the sizes of all files with local bytes, in bytes; partial files count in full.
    func presentBytes() throws -> UInt64 {
        let sum: Int64? = try value("SELECT sum(size) FROM inodes WHERE presence > 0")
        return UInt64(stored: sum ?? 0)
    }

    /// Returns files with local bytes that the remote has too, the least recently used first.
    func leastRecentlyUsed(
        after last: (accessed: Int64, inode: Int64), limit: Int
    ) throws -> [(accessed: Int64, inode: Int64)] {
        try rows(
            """
            SELECT accessed, id FROM inodes
            WHERE presence > 0 AND size > 0 AND (accessed, id) > (?, ?)
                AND writing = 0 AND id NOT IN (SELECT inode FROM pending)
            ORDER BY accessed, id LIMIT ?
            """, [last.accessed, last.inode, limit]
        ).map { ($0[0], $0[1]) }
    }
}

extension Store {
    /// The sizes of all files with local bytes, in bytes; partial files count in full.
    package func presentBytes() throws(EngineError) -> UInt64 {
        do throws(Blocked) {
            return try read { try $0.presentBytes() }
        } catch {
            throw error.failure
        }
    }
}
