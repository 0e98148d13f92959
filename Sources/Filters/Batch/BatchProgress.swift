/// How far a batch is, at one moment.
package struct BatchProgress: Hashable, Sendable {
    /// Files done, in whatever way: changed, failed, or found to be no image when opened.
    package var filesDone = 0
    /// Files that may be images, found so far.
    package var filesFound = 0
    /// Bytes of the originals of the files done.
    package var bytesDone = 0
    package var bytesFound = 0
    /// Whether the numbers of what was found are final.
    package var isWalkComplete = false
    package var elapsed = Duration.zero

    package init() {}

    /// Bytes of originals a second; nil at the start.
    package var bytesPerSecond: Double? {
        let seconds = elapsed / .seconds(1)
        return seconds > 0 && bytesDone > 0 ? Double(bytesDone) / seconds : nil
    }

    /// How long the rest will take at the same rate; nil where that cannot be known.
    package var remaining: Duration? {
        guard isWalkComplete, let bytesPerSecond else { return nil }
        return .seconds(Double(max(bytesFound - bytesDone, 0)) / bytesPerSecond)
    }
}
