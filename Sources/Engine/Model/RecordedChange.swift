/// A change of the tree, as programs that watch it see it.
package struct RecordedChange: Hashable, Sendable {
    /// Stored by number.
    package enum Kind: UInt8, CaseIterable, Sendable {
        /// A name appeared.
        case created = 0
        /// The content or the attributes changed.
        case changed = 1
        /// A name was replaced by another one, which may have belonged to another item before.
        case moved = 2
        /// A name disappeared.
        case removed = 3
        /// All changes of an item are on the remote.
        case uploaded = 4
        /// The local version gave way to the remote one, and has another name.
        case conflict = 5
    }

    /// The side on which a change was made. Stored by number.
    package enum Side: UInt8, CaseIterable, Sendable {
        case local = 0
        case remote = 1
    }

    /// Its place in the order of the changes.
    package var position: Int64
    package var time: Timestamp
    package var kind: Kind
    package var side: Side
    /// The path at that time.
    package var path: ObjectKey
    /// The path before, of ``Kind/moved`` and ``Kind/conflict``.
    package var former: ObjectKey?
}

/// A place between two recorded changes of a mount's history.
package struct HistoryCursor: Hashable, Sendable, LosslessStringConvertible {
    /// Distinguishes the history from an earlier one, whose positions mean nothing here.
    let history: String
    var position: Int64

    init(history: String, position: Int64) {
        (self.history, self.position) = (history, position)
    }

    package init?(_ description: String) {
        let parts = description.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let position = Int64(parts[1]), position >= 0
        else { return nil }
        self.init(history: String(parts[0]), position: position)
    }

    /// Whether it is of the same history, and at the same place or later.
    package func isAfter(_ other: HistoryCursor) -> Bool {
        history == other.history && position >= other.position
    }

    package var description: String { "\(history).\(position)" }
}
