/// Selects the changes at or below paths for a reader who resumes from the cursor of the last event: that is
/// told also during changes elsewhere, so that it does not become too old.
package struct ChangeSelection: Sendable {
    /// The number of changes elsewhere after which an event with only the cursor follows.
    package static let silenceMax = 1_000

    private let paths: [String]
    /// The number of changes elsewhere since the last event.
    private var silence = 0

    package init(below paths: [String]) {
        self.paths = paths
    }

    /// - Returns: What the reader is told of a change; nil for nothing.
    package mutating func take(_ event: ChangeEvent) -> ChangeEvent? {
        silence += 1
        let isSelected = event.isBelow(paths)
        guard isSelected || silence == Self.silenceMax else { return nil }
        silence = 0
        return isSelected ? event : ChangeEvent(cursor: event.cursor)
    }
}
