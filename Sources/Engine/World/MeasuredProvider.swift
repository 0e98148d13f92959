package import Meters

/// Measures the calls of a provider.
package struct MeasuredProvider: ProviderWrapper {
    package let inner: any Provider
    private let meter: ProviderMeter
    private let clock: any Clock

    package init(_ inner: any Provider, meter: ProviderMeter, clock: any Clock) {
        self.inner = inner
        self.meter = meter
        self.clock = clock
    }

    package func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let start = clock.uptime
        do throws(ProviderError) {
            let value = try await request()
            meter.note(call.kind, nil, after: clock.uptime - start)
            return value
        } catch {
            meter.note(call.kind, error.kind, after: clock.uptime - start)
            throw error
        }
    }
}

/// Counts and measures calls of a provider by their kind and result. A wait for changes is counted, but
/// its duration says nothing.
package final class ProviderMeter: Sendable {
    private typealias Kind = ProviderCall.Kind
    private typealias Failure = ProviderError.Kind

    private struct Calls: Sendable {
        let succeeded = Counter()
        let failed = Dictionary(uniqueKeysWithValues: Failure.allCases.map { ($0, Counter()) })
        let durations = Histogram()
    }

    private let calls = Dictionary(uniqueKeysWithValues: Kind.allCases.map { ($0, Calls()) })

    package init() {}

    func note(_ kind: ProviderCall.Kind, _ failure: ProviderError.Kind?, after time: Duration) {
        guard let calls = calls[kind] else { return }
        (failure.flatMap { calls.failed[$0] } ?? calls.succeeded).add()
        if kind != .changes { calls.durations.record(time) }
    }

    /// - Parameter failure: nil for success.
    package func count(_ kind: ProviderCall.Kind, _ failure: ProviderError.Kind?) -> UInt64 {
        let counter = failure.map { calls[kind]?.failed[$0] } ?? calls[kind]?.succeeded
        return counter?.value ?? 0
    }

    package func snapshot(_ kind: ProviderCall.Kind) -> Histogram.Snapshot? {
        kind == .changes ? nil : calls[kind]?.durations.snapshot
    }
}
