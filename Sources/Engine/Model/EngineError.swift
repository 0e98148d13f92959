/// Why the engine did not do what it was asked.
package struct EngineError: Error {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// No such name, or the inode is gone.
        case notFound
        case exists
        case isDirectory
        case notDirectory
        case notEmpty
        /// What was asked for makes no sense: a directory moved below itself, a bad flag.
        case invalid
        /// The mount is read-only.
        case readOnly
        /// The store or the disk does not let us.
        case denied
        /// A symbolic link of the remote's leads out of the mount.
        case contained
        /// The file system has no such thing: sockets, devices, hard links.
        case unsupported
        case nameTooLong
        case tooLarge
        /// The state directory's disk is full, and nothing could be evicted.
        case outOfSpace
        /// This process or machine has too many open files.
        case tooManyOpen
        /// No such extended attribute.
        case noAttribute
        /// Bytes that are needed are on a remote that cannot be reached.
        case unreachable
        /// The remote no longer has the version whose bytes are needed.
        case changedRemotely
        /// Only one version has the name.
        case noConflict
        /// More than one thing is meant.
        case ambiguous
        /// It holds changes that are not on the remote yet, or is in use.
        case busy
        /// The state directory cannot be read: damaged, or of a newer version.
        case damaged
        /// The request was interrupted.
        case interrupted
        /// The disk failed.
        case failed
    }

    package let kind: Kind
    /// What was attempted, with its values: `read 131072 bytes at 4194304 of inode 42`.
    package let attempt: String
    /// What the user can do, or nil when nothing helps.
    package let remedy: String?
    /// The failure underneath, for the log; never shown alone.
    package let cause: (any Error)?

    package init(
        _ kind: Kind, _ attempt: String, remedy: String? = nil, cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.attempt = attempt
        self.remedy = remedy
        self.cause = cause
    }
}

extension EngineError: CustomStringConvertible {
    package var description: String { "\(attempt): \(kind.phrase)" }
}

extension EngineError.Kind {
    /// For people, after the words for what was attempted.
    package var phrase: String {
        switch self {
        case .notFound: "it is not there"
        case .exists: "it is there already"
        case .isDirectory: "it is a directory"
        case .notDirectory: "it is no directory"
        case .notEmpty: "it is not empty"
        case .invalid: "that makes no sense"
        case .readOnly: "the mount is read-only"
        case .denied: "it is not allowed"
        case .contained: "it leads out of the mount"
        case .unsupported: "there is no such thing here"
        case .nameTooLong: "the name is too long"
        case .tooLarge: "it is too large"
        case .outOfSpace: "there is no room"
        case .tooManyOpen: "too many files are open"
        case .noAttribute: "there is no such attribute"
        case .unreachable: "the remote cannot be reached"
        case .changedRemotely: "the remote no longer has this version"
        case .noConflict: "there is no conflict at it"
        case .ambiguous: "it is not clear which one is meant"
        case .busy: "it is in use"
        case .damaged: "the state is damaged"
        case .interrupted: "it was interrupted"
        case .failed: "the disk failed"
        }
    }
}

/// Why an operation did not end with an answer.
///
/// Operations of the file system are synchronous and answer from local state. One that cannot
/// names what must be fetched first and has changed nothing; it is simply called again afterwards,
/// see ``Engine/completing(_:)``.
package enum Halt: Error {
    case failure(EngineError)
    case awaits(Need)

    static func failure(
        _ kind: EngineError.Kind, _ attempt: String, remedy: String? = nil,
        cause: (any Error)? = nil
    ) -> Halt {
        .failure(EngineError(kind, attempt, remedy: remedy, cause: cause))
    }
}

/// What only the remote knows, and an operation needs.
package enum Need: Hashable, Sendable {
    /// The names in a directory that was never listed.
    case listing(InodeNumber)
    /// Bytes of a file. The range may reach beyond the end of the file.
    case content(InodeNumber, Range<UInt64>)
    /// What a listing did not tell of an inode.
    case details(InodeNumber)
    /// The same, for somebody who can do without: it is waited for a while, and never fails.
    case look(InodeNumber)
    /// Whether the remote still has the version that is known here, for somebody who opens it.
    case version(InodeNumber, FileAccess)
}
