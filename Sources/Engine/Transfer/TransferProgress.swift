/// The running operations on the remote, and the bytes sent by uploads.
struct TransferProgress: Sendable {
    let transfers = Locked<[InodeNumber: Transfer]>([:])
    let sentBytes = Locked(SentBytes())
    let recentBytes = Locked(RecentBytes())
    let agenda: Agenda
    let clock: any Clock

    func tracking<Value>(
        _ inode: InodeNumber, _ kind: Transfer.Kind, bytes: UInt64 = 0,
        _ work: () async throws -> Value
    ) async throws -> Value {
        transfers.withLock {
            $0[inode] = Transfer(
                kind: kind, bytesTotal: bytes, bytesSent: 0, startedAt: clock.wallTime,
                lastSignAt: clock.wallTime, lastSign: clock.uptime)
        }
        agenda.noteMove(of: inode)
        agenda.changes.notify()
        defer {
            transfers.withLock { _ = $0.removeValue(forKey: inode) }
            agenda.changes.notify()
        }
        return try await SignOfLife.forwarding({ [self] in noteSign(of: inode) }, work)
    }

    func noteProgress(_ sent: UInt64, of inode: InodeNumber) {
        transfers.withLock { transfers in
            guard let before = transfers[inode]?.bytesSent, sent > before else { return }
            transfers[inode]?.bytesSent = sent
        }
        noteSign(of: inode)
        let more = sentBytes.withLock { $0.note(sent, of: inode) }
        if more > 0 { recentBytes.withLock { _ = $0.note(more, at: clock.uptime) } }
        agenda.noteMove(of: inode)
        agenda.changes.notify()
    }

    /// Notes that the remote has accepted or sent bytes of an operation.
    private func noteSign(of inode: InodeNumber) {
        let (wallTime, uptime) = (clock.wallTime, clock.uptime)
        transfers.withLock { transfers in
            transfers[inode]?.lastSignAt = wallTime
            transfers[inode]?.lastSign = uptime
        }
    }
}

/// Counts the bytes sent by uploads, each byte of a version once, however often an upload is
/// interrupted and resumed.
struct SentBytes {
    /// Since the start of the process.
    private(set) var total: UInt64 = 0

    private struct Upload {
        let generation: Int64
        /// The bytes counted so far; nil until the bytes sent by an earlier process are known.
        var counted: UInt64?
    }

    /// Running and interrupted uploads.
    private var uploads: [InodeNumber: Upload] = [:]
    /// Above this number, interrupted uploads are counted from the start again.
    private static let uploadsMax = 4_096

    /// Starts counting an upload, or continues counting the same version.
    ///
    /// - Parameter goesOn: Whether an earlier attempt left bytes at the store; the first call of
    ///   ``note(_:of:)`` gives their number.
    mutating func begin(_ inode: InodeNumber, generation: Int64, goesOn: Bool) {
        if uploads[inode]?.generation == generation { return }
        if uploads.count >= Self.uploadsMax { uploads.removeAll() }
        uploads[inode] = Upload(generation: generation, counted: goesOn ? nil : 0)
    }

    /// - Parameter sent: The bytes of the upload that are at the store.
    /// - Returns: Those of them that are counted only now.
    @discardableResult
    mutating func note(_ sent: UInt64, of inode: InodeNumber) -> UInt64 {
        guard let upload = uploads[inode] else { return 0 }
        let counted = upload.counted ?? sent
        let more = sent > counted ? sent - counted : 0
        total += more
        uploads[inode]?.counted = max(sent, counted)
        return more
    }

    mutating func end(_ inode: InodeNumber) {
        uploads[inode] = nil
    }
}
