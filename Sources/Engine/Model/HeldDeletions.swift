/// How much of what the remote has deleted is held here.
package struct HeldDeletions: Hashable, Sendable {
    /// All items, those below the directories included.
    package var items = 0
    /// The directories that were seen to be gone, not those below them.
    package var directories = 0
    /// What lies below those.
    package var itemsInDirectories = 0
}
