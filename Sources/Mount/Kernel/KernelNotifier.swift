import CFuse
import Dispatch
import Engine
import Logging
import Synchronization

/// Sends cache invalidations to the kernel from threads of its own.
///
/// The kernel processes a notification with the directory locked, and so may wait for requests in
/// that directory to be answered. The engine therefore never waits for a notification: it adds it
/// to a bounded queue, which also keeps notifications of other directories from waiting. If the
/// queue is full, the notification is dropped with a warning, and the kernel's cache is stale until
/// its ``CacheTimeouts`` pass. Waiting could deadlock: the waiting thread might be the one that must
/// answer the request.
final class KernelNotifier: KernelCache {
    private static let sendersMax = 4

    private let logger: Logger
    private let queue: Mutex<InvalidationQueue>
    /// The session to notify.
    private let target = Mutex<SessionHandle?>(nil)
    /// Each serial, so that the wait of one takes no thread from another.
    private let senders: [DispatchQueue]
    private let isDropping = Atomic(false)

    init(logger: Logger) {
        self.logger = logger
        queue = Mutex(InvalidationQueue(itemsMax: 1 << 16, senders: Self.sendersMax))
        senders = (1...Self.sendersMax).map { DispatchQueue(label: "apus.kernel-notifier.\($0)") }
    }

    func invalidate(_ name: FileName, in parent: InodeNumber) {
        add(.name(name, parent: parent))
    }

    func invalidate(_ inode: InodeNumber) {
        add(.inode(inode))
    }

    /// Holds back the notifications that would wait for a request; ``end(_:)`` follows.
    ///
    /// - Parameter inodes: Those that the request may have locked in the kernel.
    func begin(waitingAt inodes: [InodeNumber]) -> InvalidationQueue.Wait {
        queue.withLock { $0.begin(waitingAt: inodes) }
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

    private func add(_ item: InvalidationQueue.Item) {
        switch queue.withLock({ $0.add(item) }) {
        case .start(let sender):
            isDropping.store(false, ordering: .relaxed)
            start(sender)
        case .full:
            guard !isDropping.exchange(true, ordering: .relaxed) else { return }
            logger.warning("kernel invalidations dropped, remote changes appear late")
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
        }
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
        }
    }
}
