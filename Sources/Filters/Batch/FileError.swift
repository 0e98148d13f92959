import Glibc

/// Why a file could not be read or replaced; it is then as it was.
package struct FileError: Error, Hashable {
    /// For the user, in one line.
    package let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// The failure of a system call: to be made right after it.
    static func lastCall(_ attempt: String) -> FileError {
        FileError("\(attempt): \(String(cString: strerror(errno)))")
    }
}
