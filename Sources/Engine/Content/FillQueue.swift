import Synchronization

/// The files whose missing bytes are to be fetched in the background, in request order.
final class FillQueue: Sendable {
    private let queue = Mutex<[InodeNumber]>([])
    /// Notified when a file is added.
    let signal = Signal()

    func removeFirst() -> InodeNumber? {
        queue.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    /// Schedules the rest of a partial file to be fetched in the background, as far as the cache has
    /// room.
    func request(_ file: OpenFile) {
        let isNew = file.state.withLock { state in
            guard !state.isFilling, state.stored != .whole, !state.isWhole else { return false }
            state.isFilling = true
            return true
        }
        guard isNew else { return }
        let isQueued = queue.withLock { queue in
            // Bounds the queue; further files are fetched as they are read.
            guard queue.count < 1_024 else { return false }
            queue.append(file.inode)
            return true
        }
        guard isQueued else { return file.state.withLock { $0.isFilling = false } }
        signal.notify()
    }
}
