/// The reason why an inode could not be synchronised, for people.
package struct SyncFailure: Hashable, Sendable {
    package var kind: EngineError.Kind
    package var what: String
    package var why: String
    package var remedy: String?
    /// Whether it keeps failing until something is changed; otherwise it is retried soon.
    package var isFinal: Bool
}

extension SyncFailure {
    /// Whether it is retried soon; ``EngineError/Kind/busy`` needs a user's decision.
    package var isPassing: Bool { !isFinal && kind != .busy }

    static let lostBytesRemedy = "put a copy in its place, or remove it"
}

extension SyncFailure {
    static let awaitsConfirmation = SyncFailure(
        kind: .busy, what: "remove it here as on the remote",
        why: "the remote has deleted very much at once",
        remedy: "`apus confirm-deletions` removes it here too; "
            + "put it back on the remote to keep it", isFinal: false)
    static let rests = SyncFailure(
        kind: .busy, what: "delete it on the remote",
        why: "very much was deleted here at once; it rests for a minute",
        remedy: "`apus confirm-deletions` deletes it at once", isFinal: false)
}
