import Synchronization

/// Tells those who wait for commits of them; costs others nothing.
final class CommitWatch: Sendable {
    let signal = Signal()
    private let watchers = Atomic(0)

    func begin() { watchers.add(1, ordering: .sequentiallyConsistent) }

    func end() { watchers.subtract(1, ordering: .sequentiallyConsistent) }

    func noteCommit() {
        if watchers.load(ordering: .sequentiallyConsistent) > 0 { signal.notify() }
    }
}
