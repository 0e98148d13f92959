import Glibc

/// The error number of a failed system call.
package struct SystemError: Error, Hashable, CustomStringConvertible {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// The error of the call that has just failed on this thread.
    package static var last: SystemError { SystemError(errno) }

    /// The system's message. glibc's `strerror` has a buffer for each thread.
    package var description: String { String(cString: strerror(code)) }
}

/// Repeats a call that a signal interrupts.
///
/// - Returns: The result of the call, never negative.
package func retryingInterrupts<Result: SignedInteger>(
    _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        let error = SystemError.last
        if error.code != EINTR { throw error }
    }
}
