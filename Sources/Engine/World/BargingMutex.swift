import Glibc

/// A value behind a lock that any running thread may take while it is free.
///
/// `Synchronization.Mutex` makes a waiting thread its owner before it has woken up, which takes longer
/// than a short use: see `docs/decisions/030-locks-on-linux.md`. An uncontended use costs a little
/// more here.
///
/// Not recursive.
final class BargingMutex<Value>: @unchecked Sendable {
    // Sound: the lock guards `value`. On the heap, as its address must not change.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: sending Value) {
        self.value = value
        pthread_mutex_init(lock, nil)
    }

    deinit {
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value)
    }

    /// - Returns: nil if another thread has the lock.
    func withLockIfAvailable<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result? {
        guard pthread_mutex_trylock(lock) == 0 else { return nil }
        defer { pthread_mutex_unlock(lock) }
        return try body(&value)
    }
}
