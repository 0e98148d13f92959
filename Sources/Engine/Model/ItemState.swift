/// How much of an item is local, and whether it is synchronised.
package enum ItemState: String, Sendable {
    /// No bytes are local.
    case remote
    /// Some bytes are local.
    case partial
    /// All bytes are local and on the remote.
    case local
    /// It has changes that are not on the remote yet.
    case dirty
    /// A pattern of `--exclude` keeps it here.
    case excluded
    /// It is being uploaded.
    case uploading

    /// The state of an item without pending changes.
    init(_ presence: Presence?) {
        self =
            switch presence {
            case .remote, nil: .remote
            case .partial: .partial
            case .whole: .local
            }
    }
}
