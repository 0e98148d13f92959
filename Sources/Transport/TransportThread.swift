import CCurl
import Synchronization

/// The thread that owns the multi handle, seen from the others: an inbox and a bell.
final class TransportThread: Sendable {
    enum Command: Sendable {
        case start(Transfer)
        /// Means nothing for a transfer that has ended.
        case cancel(Transfer)
        case stop
    }

    private struct Inbox {
        var commands: [Command] = []
        /// The multi handle, for `curl_multi_wakeup` alone; nil before and after the thread's life.
        nonisolated(unsafe) var bell: UnsafeMutableRawPointer?
        var isClosed = false
    }

    private let inbox = Mutex(Inbox())

    /// Leaves a command for the thread; after it has stopped, a transfer ends as cancelled.
    func post(_ command: Command) {
        let isTaken = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.commands.append(command)
            // Under the lock, so that the handle cannot end in between; it never blocks.
            if let bell = inbox.bell { curl_multi_wakeup(bell) }
            return true
        }
        if !isTaken, case .start(let transfer) = command { transfer.cancel() }
    }

    /// The thread's whole life.
    func run() {
        guard let multi = MultiHandle() else { return close() }
        inbox.withLock { $0.bell = multi.pointer }
        var transfers: [UnsafeMutableRawPointer: Transfer] = [:]
        while obey(multi, &transfers) {
            multi.perform()
            while let (easy, code) = multi.nextEnded() {
                guard let transfer = transfers.removeValue(forKey: easy) else { continue }
                multi.remove(transfer)
                transfer.finish(code)
            }
            multi.wait()
        }
        for transfer in transfers.values {
            multi.remove(transfer)
            transfer.cancel()
        }
        close()
    }

    /// Does what the inbox says.
    ///
    /// - Returns: Whether to go on.
    private func obey(
        _ multi: borrowing MultiHandle, _ transfers: inout [UnsafeMutableRawPointer: Transfer]
    ) -> Bool {
        let commands = inbox.withLock { inbox in
            defer { inbox.commands = [] }
            return inbox.commands
        }
        for (index, command) in commands.enumerated() {
            switch command {
            case .start(let transfer):
                if multi.add(transfer) == CURLM_OK {
                    transfers[transfer.pointer] = transfer
                } else {
                    transfer.finish(CURLE_OUT_OF_MEMORY)
                }
            case .cancel(let transfer):
                guard transfers.removeValue(forKey: transfer.pointer) != nil else { continue }
                multi.remove(transfer)
                transfer.cancel()
            case .stop:
                cancelStarts(in: commands[(index + 1)...])
                return false
            }
        }
        return true
    }

    private func close() {
        let left = inbox.withLock { inbox in
            inbox.isClosed = true
            inbox.bell = nil
            defer { inbox.commands = [] }
            return inbox.commands
        }
        cancelStarts(in: left[...])
    }

    private func cancelStarts(in commands: ArraySlice<Command>) {
        for case .start(let transfer) in commands { transfer.cancel() }
    }
}
