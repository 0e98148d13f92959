import Synchronization

/// A value behind a lock, shared by all copies of the struct that holds it.
final class Locked<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) { self.value = Mutex(value) }

    func withLock<Result: Sendable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try value.withLock { value throws(Failure) in try body(&value) }
    }
}
