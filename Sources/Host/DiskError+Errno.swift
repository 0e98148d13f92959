import Engine
import Glibc
import SystemCalls

extension DiskError {
    /// The only translation of an `errno` of the local disk.
    ///
    /// - Parameter setsLength: Whether the call sets a length, so that `EINVAL` refuses that.
    init(_ error: SystemError, attempt: String, setsLength: Bool = false) {
        let kind: Kind =
            switch error.code {
            case ENOSPC, EDQUOT: .full
            case EFBIG: .tooLarge
            case EINVAL where setsLength: .tooLarge
            case ENOENT: .missing
            case EACCES, EPERM, EROFS: .denied
            case EMFILE, ENFILE: .tooManyOpen
            default: .failed
            }
        self.init(kind, attempt: attempt, reason: error.description)
    }

    /// Returns the value of `body`, or throws its failure as that of `attempt`.
    static func reporting<Value>(
        _ attempt: @autoclosure () -> String, _ body: @autoclosure () throws(SystemError) -> Value
    ) throws(DiskError) -> Value {
        do {
            return try body()
        } catch {
            throw DiskError(error, attempt: attempt())
        }
    }
}
