import Glibc

/// An open file descriptor, closed with its last reference.
package final class Descriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of an open descriptor.
    package init(adopting rawValue: Int32) {
        precondition(rawValue >= 0, "only an open descriptor can be owned")
        self.rawValue = rawValue
    }

    /// Opens a file. POSIX: `openat`, with `O_CLOEXEC`.
    ///
    /// - Parameters:
    ///   - directory: The start of a relative path; by default the working directory.
    ///   - mode: For a new file.
    package convenience init(
        opening path: UnsafePointer<CChar>, in directory: Int32 = AT_FDCWD, flags: Int32,
        mode: UInt32 = 0
    ) throws(SystemError) {
        self.init(
            adopting: try retryingInterrupts {
                openat(directory, path, flags | O_CLOEXEC, mode)
            })
    }

    deinit {
        // The result is ignored: Linux frees the number even if it reports a failure, and fsync
        // has told those who depend on the bytes.
        close(rawValue)
    }
}
