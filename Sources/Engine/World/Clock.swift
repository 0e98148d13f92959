/// The engine's only time source.
package protocol Clock: Sendable {
    /// The time of day, for displayed time stamps. It may jump in either direction.
    var wallTime: Timestamp { get }

    /// The time since an arbitrary start. It never goes backwards; all delays are based on it.
    var uptime: Duration { get }

    /// Returns once ``uptime`` has reached `instant`, immediately if it already has.
    ///
    /// - Throws: `CancellationError` as soon as the calling task is cancelled.
    func sleep(until instant: Duration) async throws
}
