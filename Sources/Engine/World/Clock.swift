/// The engine's only source of time.
package protocol Clock: Sendable {
    /// The time of day, for time stamps that people see. It may jump in either direction.
    var wallTime: Timestamp { get }

    /// Time since an arbitrary start. It never goes backwards; every delay is reckoned with it.
    var uptime: Duration { get }

    /// Returns once ``uptime`` has reached `instant`, at once if it has already.
    ///
    /// - Throws: `CancellationError` as soon as the calling task is cancelled.
    func sleep(until instant: Duration) async throws
}
