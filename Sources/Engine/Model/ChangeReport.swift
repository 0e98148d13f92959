/// A position in the changes of a store; opaque except to its provider.
package struct ChangeAnchor: Hashable, Sendable {
    package let rawValue: String

    package init(_ rawValue: String) {
        self.rawValue = rawValue
    }
}

/// The changes in the directories that a store follows, see ``Provider/changes(since:)``.
package struct ChangeReport: Hashable, Sendable {
    /// The position after these changes. Until it is passed on, they are reported again.
    package var anchor: ChangeAnchor
    /// Directories whose entries have changed, or that are not followed any more. Possibly also
    /// some without a change.
    package var directories: [ObjectKey]
    /// Whether changes may be missing, in any directory.
    package var mayHaveMissed: Bool

    package init(
        anchor: ChangeAnchor, directories: [ObjectKey] = [], mayHaveMissed: Bool = false
    ) {
        self.anchor = anchor
        self.directories = directories
        self.mayHaveMissed = mayHaveMissed
    }
}
