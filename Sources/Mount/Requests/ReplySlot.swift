import Synchronization

/// Carries a ``Reply`` into a task: one slot, emptied once.
final class ReplySlot: Sendable {
    private let slot: Mutex<Reply?>

    init(_ reply: consuming Reply) {
        slot = Mutex(reply)
    }

    /// - Returns: nil from the second call on.
    func take() -> Reply? {
        slot.withLock { $0.take() }
    }
}
