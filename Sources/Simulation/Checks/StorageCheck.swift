import Engine
import GRDB

/// Checks that files which the local disk failed to store are never said to be safe.
///
/// Until the remote has such a file, its `fsync` fails, and the status names it with a remedy. A power
/// cut may take its bytes, but not those of other files.
struct StorageCheck {
    private let mount: SimulatedMount
    /// The failed syncs of each file at its last successful `fsync`.
    private var failuresBefore: [InodeNumber: Int] = [:]
    /// Files whose failure died with the process that was about to record it. They are written again.
    private var unrecorded: Set<InodeNumber> = []

    init(_ mount: SimulatedMount) {
        self.mount = mount
    }

    /// Checks a successful `fsync` of a program.
    mutating func noteSynchronized(_ inode: InodeNumber) throws(ProgramFailure) {
        let path = StateFiles.content(of: inode)
        if mount.disk.hasLostBytes(path), try item(inode)?.state == .dirty {
            throw ProgramFailure("I1: fsync of inode \(inode) succeeds, whose bytes the disk lost")
        }
        failuresBefore[inode] = mount.disk.failedSyncs(of: path)
    }

    /// Checks that the status names the lost files among some.
    func checkStatus(of inodes: some Sequence<InodeNumber>) throws(ProgramFailure) {
        for inode in inodes where !unrecorded.contains(inode) && isLost(inode) {
            guard try !isNamed(inode) else { continue }
            throw ProgramFailure(
                "I1: the disk has failed to store inode \(inode), and the status does not tell")
        }
    }

    /// Whether the process was told that the disk failed to store a file.
    private func isLost(_ inode: InodeNumber) -> Bool {
        let path = StateFiles.content(of: inode)
        return mount.disk.hasLostBytes(path) && mount.disk.hasReportedFailures(of: path)
    }

    /// Whether the status names a file, with a remedy, unless the remote has its bytes or it is removed.
    private func isNamed(_ inode: InodeNumber) throws(ProgramFailure) -> Bool {
        guard let item = try item(inode), item.state != .local, !item.isDeletion,
            !isEvicted(inode)
        else { return true }
        guard let failure = item.failure else { return false }
        return failure.why.contains("failed to store") && failure.remedy != nil
    }

    /// Whether a file needs none of the bytes here, which may still be on the disk: the remote has them.
    private func isEvicted(_ inode: InodeNumber) -> Bool {
        // docs/formats.md: a presence of 0 means no local bytes.
        let isRemote = try? mount.openDatabase.read {
            try Bool.fetchOne(
                $0, sql: "SELECT presence = 0 FROM inodes WHERE id = ?", arguments: [inode.rawValue]
            )
        }
        return isRemote == true
    }

    /// - Returns: `nil` if it is not pending.
    private func item(_ inode: InodeNumber) throws(ProgramFailure) -> PendingItem? {
        do throws(EngineError) {
            return try mount.engine.status(below: .root, limit: 1_000).items
                .first { $0.inode == inode }
        } catch {
            throw ProgramFailure("no status: \(error)")
        }
    }

    /// Returns the files among some that a power cut may take: the disk has failed to store them since
    /// their last successful `fsync`.
    func endangered(among inodes: some Sequence<InodeNumber>) -> Set<InodeNumber> {
        Set(
            inodes.filter { inode in
                mount.disk.failedSyncs(of: StateFiles.content(of: inode))
                    > failuresBefore[inode, default: 0]
            })
    }

    /// Called after the start of a process that was not the first.
    mutating func noteRestart(wasPowerCut: Bool, _ inodes: some Sequence<InodeNumber>) {
        guard !wasPowerCut else {
            (failuresBefore, unrecorded) = ([:], [])
            return
        }
        for inode in inodes where isLost(inode) && !isRecorded(inode) { unrecorded.insert(inode) }
    }

    /// Whether the database knows that the disk has failed to store a file.
    private func isRecorded(_ inode: InodeNumber) -> Bool {
        let isRecorded = try? mount.openDatabase.read {
            try Bool.fetchOne(
                $0, sql: "SELECT failed = 1 FROM unsynced WHERE inode = ?",
                arguments: [inode.rawValue])
        }
        return isRecorded == true
    }
}
