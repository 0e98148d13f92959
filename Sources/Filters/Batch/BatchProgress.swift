/// The progress of a batch at one moment.
package struct BatchProgress: Hashable, Sendable {
    /// Files that were changed, failed, or turned out not to be images.
    package var filesDone = 0
    /// Files found so far whose names suggest images.
    package var filesFound = 0
    /// Bytes of the originals of ``filesDone``.
    package var bytesDone = 0
    package var bytesFound = 0
    /// Whether ``filesFound`` and ``bytesFound`` are final.
    package var isWalkComplete = false
    package var elapsed = Duration.zero

    package init() {}

    /// Bytes of originals per second; nil at the start.
    package var bytesPerSecond: Double? {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 && bytesDone > 0 ? Double(bytesDone) / seconds : nil
    }

    /// The time left at the same rate; nil until the walk is complete.
    package var remaining: Duration? {
        guard isWalkComplete, let bytesPerSecond else { return nil }
        return .seconds(Double(max(bytesFound - bytesDone, 0)) / bytesPerSecond)
    }
}
