package import Engine
package import Meters

/// Measures the requests of the kernel: each costs a few relaxed atomic increments.
package final class RequestMeter: Sendable {
    private let durations = RequestKind.allCases.map { _ in Histogram() }
    private let errors = Dictionary(
        uniqueKeysWithValues: EngineError.Kind.allCases.map { ($0, Counter()) })
    /// The bytes of the answers to reads. Files that are lent to the kernel are read without requests.
    package let readBytes = Counter()
    package let writtenBytes = Counter()

    package init() {}

    func durations(_ kind: RequestKind) -> Histogram { durations[kind.rawValue] }

    func note(_ error: EngineError.Kind) { errors[error]?.add() }

    /// The durations of the requests from their arrival to their answer.
    package func snapshot(_ kind: RequestKind) -> Histogram.Snapshot {
        durations[kind.rawValue].snapshot
    }

    package func count(_ error: EngineError.Kind) -> UInt64 { errors[error]?.value ?? 0 }
}

/// Measures one request until it is destroyed.
struct RequestTimer: ~Copyable {
    private let watch = Stopwatch()
    private let histogram: Histogram

    init(_ histogram: Histogram) {
        self.histogram = histogram
    }

    deinit {
        watch.stop(into: histogram)
    }
}
