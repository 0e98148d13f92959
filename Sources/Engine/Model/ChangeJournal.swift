/// Keeps changed directories until their report was passed on, for a provider whose source of changes
/// tells each of them once. Its memory is bounded.
package struct ChangeJournal: Sendable {
    /// Number of changed directories that are kept; with more, changes count as missed.
    package static let directoriesMax = 4_096

    /// Distinguishes it from the one of another process, whose anchors mean nothing here.
    private let nonce: String
    private var count: UInt64 = 0
    /// The last change of each directory.
    private var changed: [ObjectKey: UInt64] = [:]
    private var missedAt: UInt64 = 0

    /// - Parameter nonce: Different for each one.
    package init(nonce: String) {
        self.nonce = nonce
    }

    /// Records a change in a directory, or that it is not followed any more.
    package mutating func note(_ directory: ObjectKey) {
        count += 1
        changed[directory] = count
        if changed.count > Self.directoriesMax { noteMissed() }
    }

    /// Records that any change may have been missed.
    package mutating func noteMissed() {
        count += 1
        changed = [:]
        missedAt = count
    }

    /// Returns the changes after `anchor`, and forgets those before; nil if there are none.
    ///
    /// - Parameter anchor: nil for all that are known.
    package mutating func report(since anchor: ChangeAnchor?) -> ChangeReport? {
        let start = anchor.flatMap(position)
        let isForeign = anchor != nil && start == nil
        let begin = start ?? 0
        changed = changed.filter { $0.value > begin }
        let mayHaveMissed = isForeign || missedAt > begin
        guard anchor == nil || mayHaveMissed || !changed.isEmpty else { return nil }
        // In the order of the changes, so that a run can be replayed.
        return ChangeReport(
            anchor: ChangeAnchor("\(nonce)-\(count)"),
            directories: changed.sorted { $0.value < $1.value }.map(\.key),
            mayHaveMissed: mayHaveMissed)
    }

    /// - Returns: nil if the anchor is from another journal.
    private func position(_ anchor: ChangeAnchor) -> UInt64? {
        let parts = anchor.rawValue.split(separator: "-")
        guard parts.count == 2, parts[0] == nonce else { return nil }
        return UInt64(parts[1])
    }
}
