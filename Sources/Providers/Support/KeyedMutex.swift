package import Engine
import Synchronization

/// Makes changes of one key exclude each other within this process.
///
/// Tasks are served in the order of their arrival. The queue needs no bound: each entry is an awaiting
/// task.
package final class KeyedMutex: Sendable {
    private struct Waiter {
        let keys: Set<ObjectKey>
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var held: Set<ObjectKey> = []
        var waiting: [Waiter] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Runs `body` while no other task holds any of `keys`. A cancelled task waits too, but only
    /// briefly: the tasks before it end soon when they are cancelled, and it then sees its
    /// cancellation.
    package func with<Value: Sendable>(
        _ keys: Set<ObjectKey>, _ body: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.held.isDisjoint(with: keys),
                    state.waiting.allSatisfy({ $0.keys.isDisjoint(with: keys) })
                else {
                    state.waiting.append(Waiter(keys: keys, continuation: continuation))
                    return false
                }
                state.held.formUnion(keys)
                return true
            }
            if isFree { continuation.resume() }
        }
        defer { release(keys) }
        return try await body()
    }

    private func release(_ keys: Set<ObjectKey>) {
        let next = state.withLock { state in
            state.held.subtract(keys)
            var started: [CheckedContinuation<Void, Never>] = []
            var waiting: [Waiter] = []
            // A waiting task blocks later ones that want the same keys.
            var blocked = state.held
            for waiter in state.waiting {
                if blocked.isDisjoint(with: waiter.keys) {
                    state.held.formUnion(waiter.keys)
                    started.append(waiter.continuation)
                } else {
                    waiting.append(waiter)
                }
                blocked.formUnion(waiter.keys)
            }
            state.waiting = waiting
            return started
        }
        for continuation in next { continuation.resume() }
    }
}
