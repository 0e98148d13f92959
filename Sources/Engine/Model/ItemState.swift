/// What is here of an item, and what of it is on the remote.
package enum ItemState: String, Sendable {
    /// No bytes are here.
    case remote
    /// Some bytes are here.
    case partial
    /// All bytes are here and on the remote.
    case local
    /// It differs from the remote and waits to be sent.
    case dirty
    /// It is being sent.
    case uploading
}
extension ItemState {
    /// The state of an item on which both sides agree.
    init(_ presence: Presence?) {
        self =
            switch presence {
            case .remote, nil: .remote
            case .partial: .partial
            case .whole: .local
            }
    }
}
