/// A failed operation of the engine.
package struct EngineError: Error {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The name does not exist, or the inode was deleted.
        case notFound
        case exists
        case isDirectory
        case notDirectory
        case notEmpty
        /// An invalid argument: a directory moved below itself, a bad flag.
        case invalid
        case readOnly
        /// The store or the disk denies the access.
        case denied
        /// A remote symbolic link leads out of the mount.
        case contained
        /// The file system does not support this: sockets, devices, hard links.
        case unsupported
        case nameTooLong
        case tooLarge
        /// The state directory's disk is full, and nothing could be evicted.
        case outOfSpace
        case tooManyOpen
        /// A rename from a name that is sent to an excluded one. Programs copy and remove instead.
        case crossDevice
        case noAttribute
        /// The needed bytes are on a remote that cannot be reached.
        case unreachable
        /// The remote no longer has the version that is needed.
        case changedRemotely
        /// The name has only one version.
        case noConflict
        case ambiguous
        /// It has pending changes, or is in use.
        case busy
        /// The state directory cannot be read: it is damaged, or of a newer version.
        case damaged
        case interrupted
        case failed
    }

    package let kind: Kind
    /// The operation with its values: `read 131072 bytes at 4194304 of inode 42`.
    package let attempt: String
    /// A remedy for the user, or nil if there is none.
    package let remedy: String?
    /// The underlying failure, for the log; never shown alone.
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
    /// The kind in a message, after the operation.
    package var phrase: String {
        switch self {
        case .notFound: "not found"
        case .exists: "already exists"
        case .isDirectory: "is a directory"
        case .notDirectory: "not a directory"
        case .notEmpty: "directory not empty"
        case .invalid: "invalid argument"
        case .readOnly: "the mount is read-only"
        case .denied: "permission denied"
        case .contained: "the link leads out of the mount"
        case .unsupported: "not supported"
        case .nameTooLong: "name too long"
        case .tooLarge: "too large"
        case .outOfSpace: "no space left"
        case .tooManyOpen: "too many open files"
        case .crossDevice: "excluded names are like another file system"
        case .noAttribute: "no such attribute"
        case .unreachable: "the remote cannot be reached"
        case .changedRemotely: "the remote no longer has this version"
        case .noConflict: "no conflict"
        case .ambiguous: "more than one match"
        case .busy: "in use"
        case .damaged: "the state is damaged"
        case .interrupted: "interrupted"
        case .failed: "the disk failed"
        }
    }
}

/// The reason why an operation has no result.
///
/// File system operations are synchronous, use only local state, may block on the local disk, and may
/// be called on any thread. An operation that lacks data names it and changes nothing; it is called
/// again once the data was fetched, see ``Engine/retrying(_:)``.
package enum Blocked: Error {
    case failure(EngineError)
    case awaits(MissingData)

    static func failure(
        _ kind: EngineError.Kind, _ attempt: String, remedy: String? = nil,
        cause: (any Error)? = nil
    ) -> Blocked {
        .failure(EngineError(kind, attempt, remedy: remedy, cause: cause))
    }

    /// The failure, for callers that never need remote data.
    var failure: EngineError {
        switch self {
        case .failure(let error): return error
        case .awaits(let need): preconditionFailure("\(need) is needed, but cannot be fetched")
        }
    }
}

extension Blocked: CustomStringConvertible {
    package var description: String {
        switch self {
        case .failure(let error): error.description
        case .awaits(let need): "data is missing: \(need)"
        }
    }
}

/// Data that an operation needs, mostly from the remote.
package enum MissingData: Hashable, Sendable {
    /// The names in a directory that was never listed.
    case listing(InodeNumber)
    /// Whether a directory that was never listed has a name.
    case name(FileName, InodeNumber)
    /// The names in a known directory as they are on the remote now, for a caller that can do without:
    /// the wait is short and never fails.
    case firstLook(InodeNumber)
    /// Bytes of a file. The range may extend beyond the end of the file.
    case content(InodeNumber, Range<UInt64>)
    /// The same for ``FileAccess/scan``.
    case scanned(InodeNumber, Range<UInt64>)
    /// Metadata of an inode that a listing lacks.
    case details(InodeNumber)
    /// The same, for a caller that can do without it: the wait is short and never fails.
    case look(InodeNumber)
    /// Whether the remote still has the known version, before the file is opened.
    case version(InodeNumber, FileAccess)
    /// A copy of bytes that an upload still has to send, before they change.
    case copy(InodeNumber, Range<UInt64>)
}
