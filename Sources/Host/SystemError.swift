import Glibc

/// The `errno` of a failed call, copied before another call can change it.
struct SystemError: Error {
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    static var last: SystemError { SystemError(errno) }

    /// The message for the code. glibc's `strerror` has a buffer for each thread.
    var reason: String { String(cString: strerror(code)) }
}

/// Repeats a call that a signal interrupts.
///
/// - Returns: The result of the call, never negative.
func retryingInterrupts<Result: SignedInteger>(
    _ call: () -> Result
) throws(SystemError) -> Result {
    while true {
        let result = call()
        if result >= 0 { return result }
        let error = SystemError.last
        if error.code != EINTR { throw error }
    }
}
