import Engine
import Glibc

/// One open file descriptor: it closes when the last reference goes.
final class Descriptor: Sendable {
    let rawValue: Int32

    /// Takes over an open descriptor.
    init(adopting rawValue: Int32) {
        precondition(rawValue >= 0, "a descriptor that is not open cannot be owned")
        self.rawValue = rawValue
    }

    deinit {
        // The result is of no use: Linux frees the number even where it reports a failure, and who
        // must know whether the bytes arrived has called fsync.
        close(rawValue)
    }

    /// POSIX: `openat` with `O_CLOEXEC`, and `O_NOFOLLOW`, for what is ours is never a link.
    convenience init(
        opening path: String, in directory: Descriptor, flags: Int32, mode: mode_t = 0
    ) throws(SystemError) {
        let rawValue = try retryingInterrupts {
            openat(directory.rawValue, path, flags | O_CLOEXEC | O_NOFOLLOW, mode)
        }
        self.init(adopting: rawValue)
    }

    /// Opens a directory by its path; a link to one will do.
    convenience init(directory path: String) throws(SystemError) {
        let rawValue = try retryingInterrupts {
            Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        self.init(adopting: rawValue)
    }

    func status() throws(SystemError) -> stat {
        var status = stat()
        if fstat(rawValue, &status) != 0 { throw .last }
        return status
    }

    /// The file system that it is on.
    func space() throws(SystemError) -> StorageSpace {
        var status = statvfs()
        _ = try retryingInterrupts { fstatvfs(rawValue, &status) }
        let unit = UInt64(status.f_frsize)
        return StorageSpace(
            totalBytes: UInt64(status.f_blocks) * unit,
            freeBytes: UInt64(status.f_bfree) * unit,
            availableBytes: UInt64(status.f_bavail) * unit)
    }

    /// Returns once what was written is on the medium. POSIX: `fsync`.
    func synchronize() throws(SystemError) {
        _ = try retryingInterrupts { fsync(rawValue) }
    }
}
