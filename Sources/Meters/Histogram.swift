import Synchronization

/// Counts durations by their length. Recording one is two relaxed atomic increments, on any thread.
package final class Histogram: Sendable {
    /// The upper bounds of the buckets in nanoseconds, ascending; a last bucket has no bound.
    static let bounds: [UInt64] = [
        10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000,
        100_000_000, 300_000_000, 1_000_000_000, 3_000_000_000, 10_000_000_000, 30_000_000_000,
        100_000_000_000,
    ]

    /// The counts at one time. Durations recorded meanwhile may be in some of them only.
    package struct Snapshot: Hashable, Sendable {
        /// The number of durations in each bucket, not in those below it.
        package let counts: [UInt64]
        package let nanoseconds: UInt64

        package var count: UInt64 { counts.reduce(0, +) }
    }

    private let counts = InlineArray<16, Atomic<UInt64>> { _ in Atomic(0) }
    private let nanoseconds = Atomic<UInt64>(0)

    package init() {}

    package func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let length = UInt64(clamping: seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
        let index = Self.bounds.firstIndex { length <= $0 } ?? Self.bounds.count
        counts[index].add(1, ordering: .relaxed)
        nanoseconds.add(length, ordering: .relaxed)
    }

    /// Records how long `body` takes, also if it throws.
    package func timing<Value, Failure>(
        _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let watch = Stopwatch()
        defer { watch.stop(into: self) }
        return try body()
    }

    package var snapshot: Snapshot {
        Snapshot(
            counts: (0...Self.bounds.count).map { counts[$0].load(ordering: .relaxed) },
            nanoseconds: nanoseconds.load(ordering: .relaxed))
    }
}

/// Measures the time since it was made.
package struct Stopwatch: Sendable {
    private let start = ContinuousClock.now

    package init() {}

    package func stop(into histogram: Histogram) {
        histogram.record(ContinuousClock.now - start)
    }
}
