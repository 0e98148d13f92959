/// Local items whose remote deletion is held.
package struct HeldDeletions: Hashable, Sendable {
    /// All items, including those below the directories.
    package var items = 0
    /// Directories seen to be deleted, without their subdirectories.
    package var directories = 0
    /// Items below those directories.
    package var itemsInDirectories = 0

    /// The number of deletions, each directory counted as one.
    package var deletions: Int { max(0, items - itemsInDirectories) }
}
