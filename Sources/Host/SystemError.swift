import Glibc

/// What the kernel said: `errno`, taken before anything else can change it.
struct SystemError: Error {
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    static var last: SystemError { SystemError(errno) }

    /// glibc's `strerror` gives each thread a buffer of its own.
    var reason: String { String(cString: strerror(code)) }
}

/// Calls until a signal no longer interrupts.
///
/// - Returns: What the call returned, never negative.
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
