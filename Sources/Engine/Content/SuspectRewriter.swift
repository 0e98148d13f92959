import Logging

/// Writes suspect files again in the background, and at the end, see ``SuspectContent``.
struct SuspectRewriter: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let content: ContentStore

    /// The maximum number of files at once: most are kept open until they are synchronised.
    private static var filesMax: Int { 200 }
    /// The time after which others are synchronised first.
    private static var timeMax: Duration { .seconds(1) }

    /// Writes some suspect files again.
    ///
    /// - Returns: Whether there are more.
    func rewriteSome() throws(Blocked) -> Bool {
        try rewriteSome(until: clock.uptime + Self.timeMax, isPending: false)
    }

    /// Writes the suspect files again that the remote lacks, for a few seconds. The others are only
    /// synchronised: the machine is more likely to be restarted now than to have failed before.
    func finish() throws(Blocked) {
        let end = clock.uptime + content.configuration.shutdownGrace
        do throws(Blocked) {
            while try rewriteSome(until: end, isPending: true), clock.uptime < end {}
        } catch {
            logger.warning("bytes not written again", metadata: ["reason": "\(error)"])
        }
        try store.write { try $0.endSuspicions() }
    }

    /// - Parameter isPending: Whether only files that the remote lacks are written again, even if the
    ///   calling task is cancelled.
    private func rewriteSome(until end: Duration, isPending: Bool) throws(Blocked) -> Bool {
        let inodes = try store.read {
            try $0.suspects(isPending: isPending, limit: Self.filesMax)
        }
        for (index, inode) in inodes.enumerated() {
            // At least one, so that each call brings the end nearer.
            if index > 0, clock.uptime >= end || !isPending && Task.isCancelled { return true }
            try rewrite(inode)
        }
        return inodes.count == Self.filesMax
    }

    private func rewrite(_ inode: InodeNumber) throws(Blocked) {
        do throws(Blocked) {
            try content.withFile(inode) { file throws(Blocked) in
                try content.durability.rewrite(file)
            }
        } catch .failure(let error) {
            logger.warning(
                "bytes not written again", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            try store.write { database in
                if error.isOfDisk { try database.markSuspectUnstored(inode) }
                // It may have room for no copy, as a full disk of a file system that copies on write.
                try database.endSuspicion(of: inode)
            }
        }
    }
}

extension EngineError {
    /// Whether the disk could not read or write, as opposed to the database.
    fileprivate var isOfDisk: Bool { kind == .failed && cause is DiskError }
}
