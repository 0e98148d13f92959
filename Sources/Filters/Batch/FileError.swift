import SystemCalls

/// The reason a file could not be read or replaced; the file is unchanged.
package struct FileError: Error, Hashable {
    /// One line, for the user.
    package let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// The failure of the last system call, from `errno`.
    static func lastCall(_ attempt: String) -> FileError { FileError(attempt, .last) }

    init(_ attempt: String, _ error: SystemError) {
        self.init("\(attempt): \(error)")
    }
}
