import Logging
import Synchronization

/// The queue of pending inodes, with their due times.
final class Agenda: Sendable {
    private let store: Store
    private let clock: any Clock
    private let logger: Logger
    private let queue: Mutex<SyncQueue>
    let conflictNames = ConflictNames()
    /// Notified when there may be a new action to start.
    let signal = Signal()
    /// Notified whenever the status may have changed.
    let changes = Signal()

    init(store: Store, clock: any Clock, logger: Logger, runningMax: Int) {
        self.store = store
        self.clock = clock
        self.logger = logger
        queue = Mutex(SyncQueue(runningMax: runningMax))
    }

    /// Returns the next action, after reading more pending inodes from the database if necessary.
    func next() -> SyncQueue.Action { queue.withLock { $0.next(at: clock.uptime) } }

    /// Stops or continues to start operations.
    func setPaused(_ isPaused: Bool) { queue.withLock { $0.isPaused = isPaused } }

    /// Records the outcome of a started inode.
    func finish(_ inode: InodeNumber, _ outcome: SyncQueue.Outcome) {
        if case .done = outcome { conflictNames.forget([inode]) }
        queue.withLock { $0.finish(inode, outcome, at: clock.uptime) }
        signal.notify()
        changes.notify()
    }
}

extension Agenda {
    /// Returns the delay until a failed inode is retried, if it is known.
    func retryDelay(of inode: InodeNumber) -> Duration? {
        queue.withLock { $0.due(inode) }.map { max(.zero, $0 - clock.uptime) }
    }

    /// Schedules an inode for planning after `delay`.
    func enqueue(_ inode: InodeNumber, after delay: Duration) {
        enqueue([inode], after: delay)
    }

    func enqueue(_ inodes: [InodeNumber], after delay: Duration) {
        guard !inodes.isEmpty else { return }
        let time = clock.uptime + delay
        queue.withLock { queue in
            for inode in inodes { queue.enqueue(inode, at: time) }
        }
        signal.notify()
        changes.notify()
    }

    /// Removes inodes from the queue that were synchronised together with another one.
    func settle(_ inodes: [InodeNumber]) {
        guard !inodes.isEmpty else { return }
        queue.withLock { queue in
            for inode in inodes { queue.settle(inode, at: clock.uptime) }
        }
        conflictNames.forget(inodes)
        signal.notify()
    }

    func refill(after last: InodeNumber, limit: Int, includesHeld: Bool) {
        do throws(Blocked) {
            let inodes = try store.read {
                try $0.pendingInodes(after: last, limit: limit, includesHeld: includesHeld)
            }
            queue.withLock { $0.refill(inodes, limit: limit, at: clock.uptime) }
        } catch {
            // Synchronisation stops until the database works again; requests report its failure to
            // their callers.
            logger.error("cannot read pending changes", metadata: ["reason": "\(error)"])
            queue.withLock { $0.refillFailed(at: clock.uptime) }
        }
    }

    /// Records progress of an inode that is being synchronised.
    func noteMove(of inode: InodeNumber) {
        queue.withLock { $0.noteMove(of: inode, at: clock.uptime) }
    }
}

extension Agenda {
    /// Schedules the inodes whose last attempt found the remote unreachable, ignoring their
    /// backoff.
    func hastenUnreachable() {
        do throws(Blocked) {
            let inodes = try store.read {
                try $0.pendingInodes(failedAs: .unreachable, limit: SyncQueue.windowMax)
            }
            for inode in inodes { enqueue(inode, after: .zero) }
        } catch {
            logger.debug("cannot reschedule waiting changes", metadata: ["reason": "\(error)"])
        }
    }
}
