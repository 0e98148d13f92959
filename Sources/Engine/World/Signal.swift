import Synchronization

/// A signal that wakes all tasks waiting for a change.
///
/// To avoid a missed wake-up, read ``notifications``, check the condition, then wait for a later
/// notification.
package final class Signal: Sendable {
    private struct State {
        var notifications: UInt64 = 0
        var nextWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of notifications so far.
    package var notifications: UInt64 { state.withLock { $0.notifications } }

    package func notify() {
        let waiters = state.withLock { state in
            state.notifications += 1
            defer { state.waiters = [:] }
            // In the order of their arrival, so that a run can be replayed.
            return state.waiters.sorted { $0.key < $1.key }
        }
        for (_, waiter) in waiters { waiter.resume() }
    }

    /// Returns once there were more than `notifications` notifications, or the task is cancelled.
    package func wait(after notifications: UInt64) async {
        let ticket = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.notifications > notifications || Task.isCancelled { return true }
                    state.waiters[ticket] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: ticket) }?.resume()
        }
    }

    /// Like ``wait(after:)``, but returns when the clock has reached `deadline` at the latest.
    package func wait(after notifications: UInt64, until deadline: Duration, on clock: any Clock)
        async
    {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.wait(after: notifications) }
            group.addTask { try? await clock.sleep(until: deadline) }
            await group.next()
            group.cancelAll()
        }
    }
}
