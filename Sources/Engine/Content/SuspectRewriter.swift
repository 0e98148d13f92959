import Logging

/// Writes suspect files again in the background, and at the end, see ``SuspectContent``.
struct SuspectRewriter: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let content: ContentStore

    /// The maximum number of files at once: all are kept open until they are synchronised.
    private static var filesMax: Int { 200 }
    /// The time after which others are synchronised first.
    private static var timeMax: Duration { .seconds(1) }

    /// Writes some suspect files again.
    ///
    /// - Returns: Whether there are more.
    func rewriteSome() throws(Blocked) -> Bool {
        let end = clock.uptime + Self.timeMax
        let inodes = try store.read { try $0.suspects(limit: Self.filesMax) }
        for inode in inodes {
            if Task.isCancelled || clock.uptime >= end { return true }
            try rewrite(inode)
        }
        return inodes.count == Self.filesMax
    }

    /// Writes the suspect files again that the remote lacks, for a few seconds. The others are only
    /// synchronised: the machine is more likely to be restarted now than to have failed before.
    func finish() throws(Blocked) {
        let end = clock.uptime + content.configuration.shutdownGrace
        while clock.uptime < end {
            let inodes = try store.read { try $0.suspects(isPending: true, limit: 1) }
            guard let inode = inodes.first else { break }
            try rewrite(inode)
        }
        try store.write { try $0.endSuspicions() }
    }

    private func rewrite(_ inode: InodeNumber) throws(Blocked) {
        do throws(Blocked) {
            try content.withFile(inode) { file throws(Blocked) in
                try content.durability.rewrite(file)
            }
        } catch .failure(let error) {
            logger.warning(
                "bytes not written again", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            let isLost = error.kind == .failed || error.kind == .damaged
            try store.write { database in
                if isLost { try database.markSuspectUnstored(inode) }
                // It may have room for no copy, as a full disk of a file system that copies on write.
                try database.endSuspicion(of: inode)
            }
        }
    }
}
