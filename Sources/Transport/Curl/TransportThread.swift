import CCurl
import Synchronization

/// The thread that owns the multi handle, as other threads see it: an inbox and a way to wake it.
final class TransportThread: Sendable {
    enum Command: Sendable {
        case start(Transfer)
        /// Has no effect on a transfer that has ended.
        case cancel(Transfer)
        /// The transfer's sink has room again or has failed. Has no effect on one that has ended.
        case resume(Transfer)
        case stop
    }

    private struct Inbox {
        var commands: [Command] = []
        /// The multi handle, only for `curl_multi_wakeup`; nil if the thread is not running.
        nonisolated(unsafe) var wakeup: UnsafeMutableRawPointer?
        /// Whether the thread waits, or is about to, so that a command has to wake it.
        var isWaiting = false
        var isClosed = false
    }

    private let options: TransportOptions
    private let inbox = Mutex(Inbox())

    init(_ options: TransportOptions) {
        self.options = options
    }

    /// Sends a command to the thread. If that has stopped, a transfer ends as cancelled.
    func post(_ command: Command) {
        let isAccepted = inbox.withLock { inbox in
            guard !inbox.isClosed else { return false }
            inbox.commands.append(command)
            // Under the lock, so that the handle still exists; never blocks.
            if inbox.isWaiting, let wakeup = inbox.wakeup {
                curl_multi_wakeup(wakeup)
                inbox.isWaiting = false
            }
            return true
        }
        if !isAccepted, case .start(let transfer) = command { transfer.cancel() }
    }

    /// Runs the thread until ``Command/stop``.
    func run() {
        guard let multi = MultiHandle(connectionsMax: options.connectionsMax) else {
            return close()
        }
        inbox.withLock { $0.wakeup = multi.pointer }
        var loop = TransportLoop(multi, options)
        while executeCommands(&loop) {
            loop.perform()
            if beginWait() { loop.wait() }
        }
        // Before the loop is destroyed, and the multi handle with it.
        close()
        loop.cancelAll()
    }

    /// - Returns: Whether the inbox is empty. A command posted from then on wakes the thread.
    private func beginWait() -> Bool {
        inbox.withLock { inbox in
            inbox.isWaiting = inbox.commands.isEmpty
            return inbox.isWaiting
        }
    }

    /// Executes the commands in the inbox.
    ///
    /// - Returns: Whether to continue.
    private func executeCommands(_ loop: inout TransportLoop) -> Bool {
        let commands = inbox.withLock { inbox in
            inbox.isWaiting = false
            defer { inbox.commands = [] }
            return inbox.commands
        }
        for (index, command) in commands.enumerated() {
            switch command {
            case .start(let transfer): loop.start(transfer)
            case .cancel(let transfer): loop.cancel(transfer)
            case .resume(let transfer): loop.resume(transfer)
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
            inbox.wakeup = nil
            defer { inbox.commands = [] }
            return inbox.commands
        }
        cancelStarts(in: left[...])
    }

    private func cancelStarts(in commands: ArraySlice<Command>) {
        for case .start(let transfer) in commands { transfer.cancel() }
    }
}
