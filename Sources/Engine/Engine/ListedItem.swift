/// One name with its state, as `apus ls` shows it.
package struct ListedItem: Sendable {
    /// The most important part of its state.
    package enum Condition: Hashable, Sendable {
        case state(ItemState)
        /// A version that a remote one displaced from its name.
        case conflict
        /// The remote has deleted it; that waits for a confirmation.
        case held
        /// The last attempt to bring it to the remote failed permanently.
        case failed
    }

    /// By what it is pinned.
    package enum Pin: String, Hashable, Sendable {
        case itself
        /// A directory above.
        case inherited
    }

    package var name: FileName
    package var kind: FileKind
    package var size: UInt64
    package var modified: Timestamp
    package var condition: Condition
    /// Its current transfer, of one that is being uploaded.
    package var transfer: Transfer?
    /// nil if it is not pinned.
    package var pin: Pin?
}
