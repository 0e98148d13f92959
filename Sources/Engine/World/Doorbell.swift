import Synchronization

/// Wakes everybody who waits for something to change.
///
/// Whoever waits takes ``rings`` first, looks at what it waits for, and then waits for the next
/// ring after that number: so none is missed.
package final class Doorbell: Sendable {
    private struct State {
        var rings: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// How often it has rung.
    package var rings: UInt64 { state.withLock { $0.rings } }

    package func ring() {
        let waiters = state.withLock { state in
            state.rings += 1
            defer { state.waiters = [:] }
            // In the order of their arrival, so that a run can be replayed.
            return state.waiters.sorted { $0.key < $1.key }
        }
        for (_, waiter) in waiters { waiter.resume() }
    }

    /// Returns once it has rung more than `rings` times, or the task is cancelled.
    package func wait(after rings: UInt64) async {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.rings > rings || Task.isCancelled { return true }
                    state.waiters[ticket] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Like ``wait(after:)``, and returns at the latest when the clock has reached `deadline`.
    func wait(after rings: UInt64, until deadline: Duration, on clock: any Clock) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(after: rings) }
            group.addTask { try? await clock.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
    }
}
