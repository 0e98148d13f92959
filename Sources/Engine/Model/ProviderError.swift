/// A failed operation of a store.
package struct ProviderError: Error {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The store holds another version than the expected one. HTTP 412.
        case changed
        /// The object or its parent directory does not exist. HTTP 404.
        case missing
        case exists
        case notEmpty
        /// A directory instead of a file, or the reverse.
        case wrongKind
        /// The store cannot be reached, or its reply was incomplete; a change may have happened.
        case unreachable
        /// The store asks for a pause; nothing happened. HTTP 429, 503.
        case busy
        /// A reply was truncated or damaged.
        case corrupt
        /// The credentials are invalid or expired. HTTP 401.
        case unauthorized
        /// The credentials are valid, but do not permit this. HTTP 403.
        case denied
        /// No space left, or quota exceeded. HTTP 507.
        case full
        /// The store cannot keep this name, size or kind.
        case unsupported
        /// The caller's ``ByteSink`` failed; ``cause`` says why.
        case sink
        /// The caller's ``ByteSource`` failed; ``cause`` says why.
        case source
        /// The calling task was cancelled.
        case cancelled
    }

    package let kind: Kind
    /// The operation with its values: `write "a/b.mov"`. Empty in a provider's own errors: the
    /// engine names its calls, see ``ProviderCall``.
    package private(set) var attempt: String
    /// The store's own error message.
    package let reason: String
    /// A remedy specific to this failure; nil if the kind is enough.
    package let remedy: String?
    /// The pause that the store asks for.
    package let retryAfter: Duration?
    /// The underlying failure, for the log; never shown alone.
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

    /// A provider's own failure of the call under way.
    package init(
        _ kind: Kind, _ reason: String, remedy: String? = nil, retryAfter: Duration? = nil,
        cause: (any Error)? = nil
    ) {
        self.init(
            kind, attempt: "", reason: reason, remedy: remedy, retryAfter: retryAfter, cause: cause)
    }

    /// Returns the same failure, named after a call unless it names its operation already.
    package func during(_ call: ProviderCall) -> ProviderError {
        guard attempt.isEmpty else { return self }
        var error = self
        error.attempt = call.description
        return error
    }

    /// A reply about a place or version that our own operation has changed since: not an error, as
    /// the next call uses the current one.
    init(outdated error: ProviderError) {
        self.init(
            .busy, attempt: error.attempt, reason: "it is being moved or changed",
            cause: error)
    }

    /// Whether the cause is this machine's disk, or a lack of descriptors: the program is told at
    /// once, as waiting for the remote does not help.
    var isOfLocalDisk: Bool { cause is DiskError }

    /// Whether the same call may succeed later with nothing else changed.
    package var isPassing: Bool {
        switch kind {
        case .unreachable, .busy, .corrupt: true
        default: false
        }
    }
}

extension ProviderError: CustomStringConvertible {
    package var description: String { attempt.isEmpty ? reason : "\(attempt): \(reason)" }
}
