import GRDB

/// Repairs the extents of partial files.
struct ExtentCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try database.run(
            "DELETE FROM extents WHERE typeof(start) <> 'integer' OR typeof(stop) <> 'integer'")
        try context.forEach(
            "inode", of: "extents AS extent",
            where: """
                NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0 AND presence = 1)
                OR start < 0 OR stop <= start
                OR stop > (SELECT size FROM inodes WHERE id = inode) AND stop <> \(Int64.max)
                OR EXISTS (SELECT 1 FROM extents WHERE inode = extent.inode
                    AND start > extent.start AND start < extent.stop)
                """
        ) { inode, _ in try repair(inode) }
    }

    private func repair(_ inode: InodeNumber) throws {
        guard let record = try database.inode(inode), record.presence == .partial,
            record.kind == .file
        else {
            try database.setExtents(ExtentSet(), of: inode)
            return try context.tell(
                .extents, inode, "extents exist, but it is not a partial file",
                repair: "they are removed")
        }
        var kept = ""
        if try context.isChanged(record), try context.contentSize(of: inode) ?? 0 > 0 {
            // The clipped bytes may be the changes.
            let place = try context.files.copyToLost(
                StateFiles.content(of: inode), inode: inode, was: context.describe(inode))
            kept = "; a copy of all its bytes is in \(place)"
        }
        try database.setExtents(validExtents(of: record), of: inode)
        try context.tell(
            .extents, inode, "its extents overlap, are empty, or exceed its size",
            repair: "they are clipped to valid ranges" + kept)
    }

    private func validExtents(of record: InodeRecord) throws -> ExtentSet {
        var extents = ExtentSet()
        let rows = try database.rows(
            "SELECT start, stop FROM extents WHERE inode = ?", [record.id])
        for row in rows {
            let (start, stop): (Int64, Int64) = (row[0], row[1])
            let end = stop == .max ? stop : min(stop, record.size.stored)
            if start >= 0, start < end { extents.insert(UInt64(start)..<UInt64(end)) }
        }
        return extents
    }
}
