/// Why a store did not do what it was asked.
package struct ProviderError: Error {
    package enum Kind: Hashable, Sendable {
        /// It holds another version than the one named. HTTP 412.
        case changed
        /// The object, or the directory it should lie in, is not there. HTTP 404.
        case missing
        /// Something is there already.
        case exists
        /// A directory to be deleted still holds something.
        case notEmpty
        /// It is a directory where a file was asked for, or the reverse.
        case wrongKind
        /// The store cannot be reached, or gave no whole answer; whether a change happened is
        /// unknown.
        case unreachable
        /// It answers, and asks to be left alone for a while; nothing happened. HTTP 429, 503.
        case busy
        /// A reply was short or damaged.
        case corrupt
        /// The credentials are not, or no longer, good for anything. HTTP 401.
        case unauthorized
        /// The credentials are good, but not for this. HTTP 403.
        case denied
        /// No room, or over the quota. HTTP 507.
        case full
        /// The store cannot keep this: a name, a size, a kind.
        case unsupported
        /// The caller's ``ByteSink`` refused the bytes; ``cause`` says why.
        case sink
        /// The caller's ``ByteSource`` gave no bytes; ``cause`` says why.
        case source
        /// The calling task was cancelled.
        case cancelled
    }

    package let kind: Kind
    /// What was attempted, with its values: `write "a/b.mov"`.
    package let attempt: String
    /// The store's own words.
    package let reason: String
    /// What the user can do about this very failure; nil where its kind says all.
    package let remedy: String?
    /// How long the store asks to be left alone.
    package let retryAfter: Duration?
    /// The failure underneath, for the log; never shown alone.
    package let cause: (any Error)?

    package init(
        _ kind: Kind, attempt: String, reason: String, remedy: String? = nil,
        retryAfter: Duration? = nil, cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
        self.remedy = remedy
        self.retryAfter = retryAfter
        self.cause = cause
    }

    /// An answer that was true of a place or version which our own operation has changed since:
    /// nothing is wrong, and the next call asks for the right one.
    init(outdated error: ProviderError) {
        self.init(
            .busy, attempt: error.attempt, reason: "it is just being moved or changed",
            cause: error)
    }

    /// Whether this machine had no descriptor left: a program is told at once, as it may be the one
    /// that has them open.
    var isForLackOfDescriptors: Bool { (cause as? DiskError)?.kind == .tooManyOpen }

    /// Whether the same call may well succeed later with nothing else changed.
    package var isPassing: Bool {
        switch kind {
        case .unreachable, .busy, .corrupt: true
        default: false
        }
    }
}
