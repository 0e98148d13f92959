import Synchronization

/// The running operations on the remote, and the bytes sent by uploads.
final class TransferProgress: Sendable {
    let transfers = Mutex<[InodeNumber: Transfer]>([:])
    let sentBytes = Mutex(SentBytes())
    private let agenda: Agenda

    init(agenda: Agenda) {
        self.agenda = agenda
    }
}

extension TransferProgress {
    func tracking<Value>(
        _ inode: InodeNumber, _ kind: Transfer.Kind, bytes: UInt64 = 0,
        _ work: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        transfers.withLock {
            $0[inode] = Transfer(kind: kind, bytesTotal: bytes, bytesSent: 0)
        }
        agenda.noteMove(of: inode)
        agenda.changes.notify()
        defer {
            transfers.withLock { _ = $0.removeValue(forKey: inode) }
            agenda.changes.notify()
        }
        return try await work()
    }

    func noteProgress(_ sent: UInt64, of inode: InodeNumber) {
        transfers.withLock { transfers in
            guard let before = transfers[inode]?.bytesSent, sent > before else { return }
            transfers[inode]?.bytesSent = sent
        }
        sentBytes.withLock { $0.note(sent, of: inode) }
        agenda.noteMove(of: inode)
        agenda.changes.notify()
    }
}
