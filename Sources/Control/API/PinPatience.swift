/// Decides when a request that pins ends although files are missing, without a clock: time is an argument.
///
/// They are fetched later without it.
package struct PinPatience {
    /// How long nothing may arrive while fetches fail or are hindered.
    package static let limit: Duration = .seconds(30)

    private var bytesMissingMin = UInt64.max
    /// Since when fetches fail or are hindered, and nothing has arrived.
    private var failingSince: Duration?

    package init() {}

    /// Ends the request if it has waited for too long.
    package mutating func limit(_ progress: inout PinProgress, at now: Duration) {
        let hasMoved = progress.bytesMissing < bytesMissingMin
        bytesMissingMin = min(bytesMissingMin, progress.bytesMissing)
        let isFailing = progress.hindrance != nil || !progress.failed.isEmpty
        failingSince = isFailing ? (hasMoved ? now : failingSince ?? now) : nil
        if let failingSince, now - failingSince >= Self.limit { progress.isDone = true }
    }
}
