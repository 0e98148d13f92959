/// The reason why an inode could not be synchronised, for people.
package struct SyncFailure: Hashable, Sendable {
    package var kind: EngineError.Kind
    package var what: String
    package var why: String
    package var remedy: String?
    /// Whether it keeps failing until something is changed; otherwise it is retried soon.
    package var isFinal: Bool

    /// Whether it is retried soon; ``EngineError/Kind/busy`` needs a user's decision.
    package var isPassing: Bool { !isFinal && kind != .busy }

    /// Whether it is a remote deletion that waits for a user's decision.
    package var isHeldDeletion: Bool { self == .awaitsConfirmation || self == .cannotReturn }

    /// The failure of a file that is uploaded, but whose bytes here are not safe until then.
    static func unstored(_ path: String) -> SyncFailure {
        SyncFailure(
            kind: .failed, what: "store \"\(path)\"",
            why: "the local disk has failed to store its bytes",
            remedy: "check the disk of the state directory, and replace the file with a copy",
            isFinal: true)
    }

    /// This failure of an upload, whose bytes here are not safe either.
    var withUnstoredBytes: SyncFailure {
        var failure = self
        failure.why += "; besides, \(Self.unstored("").why)"
        return failure
    }

    static let lostBytesRemedy = "replace it with a copy, or remove it"

    package static let awaitsConfirmation = SyncFailure(
        kind: .busy, what: "apply the remote deletion",
        why: "bulk deletion on the remote",
        remedy: "`apus confirm-deletions` removes it here too, "
            + "`apus confirm-deletions --reject` sends it again", isFinal: false)
    /// A held deletion that a user has rejected in vain.
    static let cannotReturn = SyncFailure(
        kind: .busy, what: "send it to the remote again",
        why: "the remote has deleted it, and not all of its bytes are on this machine",
        remedy: "put it back on the remote; or `apus confirm-deletions` removes it here too",
        isFinal: false)
    static let rests = SyncFailure(
        kind: .busy, what: "delete it on the remote",
        why: "bulk deletion: held for one minute before it is sent",
        remedy: "`apus confirm-deletions` sends it at once, "
            + "`apus confirm-deletions --reject` brings the item back", isFinal: false)
}
