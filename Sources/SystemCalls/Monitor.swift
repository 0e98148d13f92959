import Glibc

/// A value shared by threads, which can wait for a change; tasks must not, as their threads may not
/// block.
package final class Monitor<State: Sendable>: @unchecked Sendable {
    // Sound: the lock guards `state`. The two POSIX objects are on the heap because their address
    // must not change.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    /// The waiting threads that a change concerns.
    package enum Waking { case none, one, all }

    package init(_ state: State) {
        self.state = state
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value.
    package func update<Result>(
        waking: Waking = .all, _ body: (inout State) -> Result
    ) -> Result {
        wait(waking: waking) { body(&$0) }
    }

    /// Waits until `body` returns a result; it is called again after each change.
    package func wait<Result>(
        waking: Waking = .all, until body: (inout State) -> Result?
    ) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            switch waking {
            case .none: break
            case .one: pthread_cond_signal(condition)
            case .all: pthread_cond_broadcast(condition)
            }
            pthread_mutex_unlock(mutex)
        }
        while true {
            // The exclusive access to the state ends before the wait, during which others change it.
            if let result = body(&state) { return result }
            pthread_cond_wait(condition, mutex)
        }
    }
}
