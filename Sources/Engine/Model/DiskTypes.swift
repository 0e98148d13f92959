/// A path relative to the state directory, separated by `/`.
package struct DiskPath: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

package struct DiskFileStatus: Hashable, Sendable {
    /// Length in bytes.
    package var size: UInt64
    /// Bytes allocated on the disk, without holes.
    package var allocatedBytes: UInt64
    package var modified: Timestamp

    package init(size: UInt64, allocatedBytes: UInt64, modified: Timestamp) {
        self.size = size
        self.allocatedBytes = allocatedBytes
        self.modified = modified
    }
}

/// The capacity of a file system or a remote, in bytes.
package struct StorageSpace: Hashable, Sendable {
    package var totalBytes: UInt64
    /// Bytes not in use.
    package var freeBytes: UInt64
    /// Bytes that may be used: less than `freeBytes` if some are reserved, for root or for others.
    package var availableBytes: UInt64

    /// - Parameter freeBytes: By default equal to `availableBytes`.
    package init(totalBytes: UInt64, freeBytes: UInt64? = nil, availableBytes: UInt64) {
        self.totalBytes = totalBytes
        self.freeBytes = freeBytes ?? availableBytes
        self.availableBytes = availableBytes
    }

    /// The space shown for a remote that does not report it: 1 PiB, all of it free.
    package static let unknown = StorageSpace(totalBytes: 1 << 50, availableBytes: 1 << 50)

    /// Bytes kept free on the state directory's disk for the database, whose commits must not fail
    /// when content has filled the disk: 64 MiB, or 5 % of a small disk.
    package var reserve: UInt64 { min(64 << 20, totalBytes / 20) }
}

/// A failure of the local disk.
package struct DiskError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// POSIX: `ENOSPC`, `EDQUOT`.
        case full
        /// POSIX: `EFBIG`, `EINVAL` for a length.
        case tooLarge
        /// POSIX: `ENOENT`.
        case missing
        /// POSIX: `EACCES`, `EPERM`, `EROFS`.
        case denied
        /// This process or machine has too many open files. POSIX: `EMFILE`, `ENFILE`.
        case tooManyOpen
        /// Any other error, above all `EIO`.
        case failed
    }

    package let kind: Kind
    /// The operation and its path: `write 4096 bytes at 0 of "content/00/2a"`.
    package let attempt: String
    /// The system's error message.
    package let reason: String

    package var description: String { "\(attempt): \(reason)" }

    package init(_ kind: Kind, attempt: String, reason: String) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
    }
}
