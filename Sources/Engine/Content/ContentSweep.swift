import GRDB
import Logging

/// Compares the content files with the database in the background after each start: clears leftovers of
/// the process before away, measures the space of all others, and forgets bytes that are gone.
///
/// Nothing waits for the second part: a file that is opened before is repaired then, see ``ContentStore``.
struct ContentSweep: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    let files: OpenFileTable
    let space: Space
    let leftovers: Leftovers

    func run() async {
        await leftovers.run()
        do throws(Blocked) {
            try await measureContent()
        } catch {
            // The next start tries again.
            logger.warning("content files not measured", metadata: ["reason": "\(error)"])
        }
    }

    /// The files looked at with one query.
    private static var pageFiles: Int { 1_000 }
    /// The files looked at together: an open of one waits for all of them.
    private static var batchFiles: Int { 16 }

    private func measureContent() async throws(Blocked) {
        var last = InodeNumber(rawValue: 0)
        while !Task.isCancelled {
            let page = try store.read { try $0.withLocalBytes(after: last, limit: Self.pageFiles) }
            guard let end = page.last else { return }
            for batch in page.pieces(of: Self.batchFiles) {
                try files.withExclusive(Array(batch)) { unused throws(Blocked) in
                    try measure(unused)
                }
            }
            last = end
            await Task.yield()
        }
    }

    /// A content file as it is on the disk.
    private struct Content {
        var inode: InodeNumber
        var size: UInt64
        var allocatedBytes: UInt64
    }

    /// Measures the content of unused files. The last measurement of one that was only read may have
    /// been lost with the process.
    private func measure(_ inodes: [InodeNumber]) throws(Blocked) {
        let found = inodes.compactMap { inode in
            reporting(inode) { () throws(Blocked) in
                let status = try onDisk(
                    "measure the content of inode \(inode)",
                    do: disk.status(of: StateFiles.content(of: inode)))
                return Content(
                    inode: inode, size: status?.size ?? 0,
                    allocatedBytes: status?.allocatedBytes ?? 0)
            }
        }
        let different = try store.read { database in
            try found.filter { content in
                guard try database.isPresent(content.inode),
                    let record = try database.inode(content.inode)
                else { return false }
                return try database.localBytes(of: record.id) != content.allocatedBytes
                    || content.size < database.leastContentSize(record)
            }
        }
        for content in different {
            reporting(content.inode) { () throws(Blocked) in try correct(content) }
        }
    }

    private func correct(_ content: Content) throws(Blocked) {
        if try space.forgetLost(content.inode, contentSize: content.size) {
            try onDisk(
                "remove a leftover of a crash",
                do: disk.remove(StateFiles.content(of: content.inode)))
        } else {
            try store.write { database in
                guard try database.isPresent(content.inode) else { return }
                try database.setLocalBytes(content.allocatedBytes, of: content.inode)
            }
        }
    }

    /// One file that cannot be examined does not hold up the others.
    @discardableResult
    private func reporting<Value>(
        _ inode: InodeNumber, _ body: () throws(Blocked) -> Value
    ) -> Value? {
        do throws(Blocked) {
            return try body()
        } catch {
            logger.warning(
                "content file not examined", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            return nil
        }
    }
}
