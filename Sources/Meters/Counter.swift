import Synchronization

/// A number that only grows. Adding to it is one relaxed atomic increment, on any thread.
package final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    package init() {}

    /// - Parameter number: Not negative.
    package func add(_ number: Int = 1) {
        count.add(UInt64(number), ordering: .relaxed)
    }

    package var value: UInt64 { count.load(ordering: .relaxed) }
}
