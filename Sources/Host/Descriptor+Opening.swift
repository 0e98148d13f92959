import Engine
import Glibc
import SystemCalls

extension Descriptor: OpenDescriptor {
    /// POSIX: `openat` with `O_CLOEXEC`, and with `O_NOFOLLOW`, as our files are never links.
    convenience init(
        opening path: String, in directory: Descriptor, flags: Int32, mode: mode_t = 0
    ) throws(SystemError) {
        try self.init(
            opening: path, in: directory.rawValue, flags: flags | O_NOFOLLOW, mode: mode)
    }

    /// Opens a directory by its path, following links.
    convenience init(directory path: String) throws(SystemError) {
        try self.init(opening: path, flags: O_RDONLY | O_DIRECTORY)
    }

    func status() throws(SystemError) -> stat {
        var status = stat()
        if fstat(rawValue, &status) != 0 { throw .last }
        return status
    }

    /// Whether this is the file that has a path now.
    func isFile(at path: String) throws(SystemError) -> Bool {
        let own = try status()
        var named = stat()
        return stat(path, &named) == 0 && named.st_dev == own.st_dev && named.st_ino == own.st_ino
    }

    /// Total and free bytes of the file system that holds the file.
    func space() throws(SystemError) -> StorageSpace {
        var status = statvfs()
        _ = try retryingInterrupts { fstatvfs(rawValue, &status) }
        let unit = UInt64(status.f_frsize)
        return StorageSpace(
            totalBytes: UInt64(status.f_blocks) * unit,
            freeBytes: UInt64(status.f_bfree) * unit,
            availableBytes: UInt64(status.f_bavail) * unit)
    }

    /// Returns once all writes to the file are on the medium. POSIX: `fsync`.
    func synchronize() throws(SystemError) {
        _ = try retryingInterrupts { fsync(rawValue) }
    }
}
