import Synchronization
import SystemCalls

/// The thread that owns the multi handle, as other threads see it: an inbox and a way to wake it.
final class TransportThread: Sendable {
    enum Command: Sendable {
        case start(Transfer)
        /// Has no effect on a transfer that has ended.
        case cancel(Transfer)
        /// The transfer's sink has room again or has failed. Has no effect on one that has ended.
        case resume(Transfer)
        case limit(Bandwidth)
        case stop
    }

    private struct Inbox {
        var commands: [Command] = []
        /// Wakes the thread; nil if it is not running.
        var bell: Descriptor?
        /// Whether the thread waits, or is about to, so that a command has to wake it.
        var isWaiting = false
        var isClosed = false
    }

    private let options: TransportOptions
    private let meter: TransportMeter
    private let inbox = Mutex(Inbox())

    init(_ options: TransportOptions, meter: TransportMeter) {
        self.options = options
        self.meter = meter
    }

    /// Sends a command to the thread. If that has stopped, a transfer ends as cancelled.
    func post(_ command: Command) {
        let (isAccepted, bell) = inbox.withLock { inbox -> (Bool, Descriptor?) in
            guard !inbox.isClosed else { return (false, nil) }
            inbox.commands.append(command)
            guard inbox.isWaiting else { return (true, nil) }
            inbox.isWaiting = false
            return (true, inbox.bell)
        }
        if let bell { SocketEvents.ring(bell) }
        if !isAccepted, case .start(let transfer) = command { transfer.cancel() }
    }

    /// Runs the thread until ``Command/stop``.
    func run() {
        guard let multi = MultiHandle() else { return close() }
        inbox.withLock { [bell = multi.bell] in $0.bell = bell }
        var loop = TransportLoop(multi, options, meter: meter)
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
            case .limit(let bandwidth): loop.limit(to: bandwidth)
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
