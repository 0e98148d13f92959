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

    private let options: TransportOptions
    private let inbox = Mutex(Inbox())

    init(_ options: TransportOptions) {
        self.options = options
    }

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
        var loop = TransportLoop(multi, requestsPerHost: options.requestsPerHost)
        while obey(&loop) {
            loop.perform()
            loop.wait()
        }
        // Before the loop ends, and the multi handle with it.
        close()
        loop.cancelAll()
    }

    /// Does what the inbox says.
    ///
    /// - Returns: Whether to go on.
    private func obey(_ loop: inout TransportLoop) -> Bool {
        let commands = inbox.withLock { inbox in
            defer { inbox.commands = [] }
            return inbox.commands
        }
        for (index, command) in commands.enumerated() {
            switch command {
            case .start(let transfer): loop.start(transfer)
            case .cancel(let transfer): loop.cancel(transfer)
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
