import Foundation
import Glibc

/// A system call that failed.
struct CallError: Error, CustomStringConvertible {
    /// What was called, with its path: `open /tmp/a`.
    let call: String
    let code: Int32

    var description: String { "\(call): \(String(cString: strerror(code)))" }

    /// Whether the daemon behind a mount went away under the call, or before it.
    var meansDeadMount: Bool {
        [ENOTCONN, ECONNABORTED, EIO, ENODEV, ENXIO].contains(code)
    }

    /// Passes a call's result on, unless it is -1.
    @discardableResult
    static func check<Result: SignedInteger>(
        _ result: Result, _ call: @autoclosure () -> String
    ) throws(CallError) -> Result {
        if result == -1 {
            let code = errno
            throw CallError(call: call(), code: code)
        }
        return result
    }
}
