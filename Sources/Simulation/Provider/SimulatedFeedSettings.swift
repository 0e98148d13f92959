/// The behaviour of a ``SimulatedFeed``.
package struct SimulatedFeedSettings: Sendable {
    /// The delay of a report after the change.
    package var delay: ClosedRange<Duration> = .zero...(.milliseconds(100))
    /// The share of directories that it cannot follow.
    package var refusals = 0.0
    /// The share of reports that are lost, which it says, and of those that come twice.
    package var losses = 0.0
    package var repeats = 0.0

    package init() {}
}
