import CFuse
import Dispatch
import Engine
import Glibc
import Logging
import Synchronization

/// Sends cache invalidations to the kernel from threads of its own.
///
/// The kernel processes a notification with the directory locked, and so may wait for requests in
/// that directory to be answered. The engine therefore never waits for a notification: it adds it
/// to a bounded queue, which also keeps notifications of other directories from waiting. Waiting could
/// deadlock: the waiting thread might be the one that must answer the request. If the queue is full, all
/// names are invalidated at once; the kernel then asks again for each that it uses. A kernel without
/// epochs cannot do that: there the cache is stale until its ``CacheTimeouts`` pass.
final class KernelNotifier: KernelCache {
    private static let sendersMax = 4
    /// The threads for those that got stuck, each until a request is answered.
    private static let sparesMax = 60
    private static let itemsMax = 1 << 16

    private let logger: Logger
    private let queue: Mutex<InvalidationQueue>
    /// The session to notify.
    private let target = Mutex<SessionHandle?>(nil)
    /// Each serial, so that the wait of one takes no thread from another.
    private let senders: [DispatchQueue]
    private let isDropping = Atomic(false)
    private let ledger = Mutex(AnswerLedger())
    /// Sends notifications again, see ``AnswerLedger``.
    private let repeater = DispatchQueue(label: "apus.kernel-repeater")
    /// The number of those that wait for their time.
    private let repeats = Mutex(0)

    init(logger: Logger) {
        self.logger = logger
        queue = Mutex(
            InvalidationQueue(
                itemsMax: Self.itemsMax, senders: Self.sendersMax, spares: Self.sparesMax))
        senders = (1...Self.sendersMax + Self.sparesMax).map {
            DispatchQueue(label: "apus.kernel-notifier.\($0)")
        }
    }

    func invalidate(_ name: FileName, in parent: InodeNumber) {
        announce(.name(name, parent: parent))
    }

    func invalidate(_ inode: InodeNumber) {
        announce(.inode(inode))
    }

    func invalidateAttributes(of inode: InodeNumber) {
        announce(.attributes(inode))
    }

    /// The order of changes so far. A request takes it before it reads the engine's state.
    var moment: AnswerLedger.Moment { ledger.withLock { $0.now } }

    /// Invalidates those parts of an answer that may have changed before it was sent.
    ///
    /// - Parameter items: The parts of it that the kernel may cache.
    func noteAnswer(_ items: [InvalidationQueue.Item], since begin: AnswerLedger.Moment) {
        let time = Self.uptime
        let overtaken = ledger.withLock { $0.noteAnswer(items, since: begin, at: time) }
        for item in overtaken { add(item) }
    }

    private func announce(_ item: InvalidationQueue.Item) {
        guard ledger.withLock({ $0.noteChange(of: item) }) else { return }
        add(item)
    }

    /// Holds back the notifications that would wait for a request; ``end(_:)`` follows.
    ///
    /// - Parameter inodes: Those that the request may have locked in the kernel.
    func begin(waitingAt inodes: [InodeNumber]) -> InvalidationQueue.Wait {
        let (wait, sender) = queue.withLock { $0.begin(waitingAt: inodes) }
        if let sender { start(sender) }
        return wait
    }

    /// Sends what was held back for a request that is answered.
    func end(_ wait: InvalidationQueue.Wait) {
        if let sender = queue.withLock({ $0.end(wait) }) { start(sender) }
    }

    /// Starts sending notifications to a session.
    func attach(_ session: SessionHandle) {
        target.withLock { $0 = session }
        queue.withLock { $0.open() }
    }

    /// Stops sending notifications to the session, and returns when none is in flight.
    ///
    /// Blocks while the kernel processes one, which may require that requests are answered.
    func detach() {
        queue.withLock { $0.close() }
        for sender in senders { sender.sync {} }
        target.withLock { $0 = nil }
    }

    private func add(_ item: InvalidationQueue.Item, isRepeat: Bool = false) {
        switch queue.withLock({ $0.add(item, isRepeat: isRepeat) }) {
        case .start(let sender):
            isDropping.store(false, ordering: .relaxed)
            start(sender)
        case .full:
            invalidateAll()
            guard !isDropping.exchange(true, ordering: .relaxed) else { return }
            logger.warning("too many kernel invalidations: all names are invalidated")
        case .queued, .closed:
            break
        }
    }

    private func start(_ sender: Int) {
        senders[sender].async { self.sendAll(as: sender) }
    }

    private func sendAll(as sender: Int) {
        var last: InvalidationQueue.Item?
        while let item = queue.withLock({ $0.next(for: sender, after: last) }) {
            send(item)
            last = item
            let isRepeat = queue.withLock { $0.takeRepeat(item) }
            let time = Self.uptime
            if !isRepeat, ledger.withLock({ $0.isRecent(item, at: time) }) { repeatLater(item) }
        }
    }

    /// Sends a notification again once the kernel has entered all answers into its caches that it had
    /// got before the first one.
    private func repeatLater(_ item: InvalidationQueue.Item) {
        let hasRoom = repeats.withLock { repeats in
            guard repeats < Self.itemsMax else { return false }
            repeats += 1
            return true
        }
        guard hasRoom else { return invalidateAll() }
        repeater.asyncAfter(deadline: .now() + AnswerLedger.entryMax.seconds) {
            self.repeats.withLock { $0 -= 1 }
            self.add(item, isRepeat: true)
        }
    }

    /// Makes all names invalid, so that the kernel asks again for each that it uses.
    private func invalidateAll() {
        // Under the lock, so that the session outlives it: the kernel waits for no request here.
        target.withLock { target in
            guard let session = target?.session else { return }
            apus_notify_epoch(session)
            // The root has no name.
            _ = fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(FUSE_ROOT_ID), -1, 0)
        }
    }

    private static var uptime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    private func send(_ item: InvalidationQueue.Item) {
        // Taken under the lock and used outside it: ``detach()`` waits for this thread.
        guard let session = target.withLock({ $0 })?.session else { return }
        switch item {
        case .name(let name, let parent):
            name.bytes.withUnsafeBytes { bytes in
                let text = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                // An error means that the kernel does not know the name, which is as good.
                _ = fuse_lowlevel_notify_inval_entry(
                    session, fuse_ino_t(parent.rawValue), text, bytes.count)
            }
        case .inode(let inode):
            _ = fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode.rawValue), 0, 0)
        case .attributes(let inode):
            // A negative offset leaves the cached bytes.
            _ = fuse_lowlevel_notify_inval_inode(session, fuse_ino_t(inode.rawValue), -1, 0)
        }
    }
}
