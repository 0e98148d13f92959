/// A path below the state directory, `/` between its parts.
package struct DiskPath: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

package struct DiskFileStatus: Hashable, Sendable {
    /// Length in bytes.
    package var size: UInt64
    /// Bytes that it takes on the disk, without holes.
    package var allocatedBytes: UInt64
    package var modified: Timestamp

    package init(size: UInt64, allocatedBytes: UInt64, modified: Timestamp) {
        self.size = size
        self.allocatedBytes = allocatedBytes
        self.modified = modified
    }
}

/// How much a file system or a remote can hold, in bytes.
package struct StorageSpace: Hashable, Sendable {
    package var totalBytes: UInt64
    /// What nothing takes; the rest is used.
    package var freeBytes: UInt64
    /// What may be taken: less where some is kept back, for root or for others.
    package var availableBytes: UInt64

    /// - Parameter freeBytes: By default all that is free is available.
    package init(totalBytes: UInt64, freeBytes: UInt64? = nil, availableBytes: UInt64) {
        self.totalBytes = totalBytes
        self.freeBytes = freeBytes ?? availableBytes
        self.availableBytes = availableBytes
    }

    /// What is shown of a remote that does not tell: 1 PiB, all of it free.
    package static let unknown = StorageSpace(totalBytes: 1 << 50, availableBytes: 1 << 50)

    /// What stays free of the state directory's disk for the database, whose commits must not fail
    /// for want of room when content has taken all there is: 64 MiB, of a small disk a twentieth.
    package var reserve: UInt64 { min(64 << 20, totalBytes / 20) }
}

/// Why the local disk refused.
package struct DiskError: Error {
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
        /// Everything else, `EIO` first.
        case failed
    }

    package let kind: Kind
    /// What was attempted, on which path: `write 4096 bytes at 0 of "content/00/2a"`.
    package let attempt: String
    /// The system's own words.
    package let reason: String

    package init(_ kind: Kind, attempt: String, reason: String) {
        self.kind = kind
        self.attempt = attempt
        self.reason = reason
    }
}
