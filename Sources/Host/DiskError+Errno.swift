import Engine
import Glibc

extension DiskError {
    /// The one place where an `errno` of the local disk gets its meaning.
    ///
    /// - Parameter setsLength: Whether the call takes a length, which `EINVAL` then refuses.
    init(_ error: SystemError, attempt: String, setsLength: Bool = false) {
        let kind: Kind =
            switch error.code {
            case ENOSPC, EDQUOT: .full
            case EFBIG: .tooLarge
            case EINVAL where setsLength: .tooLarge
            case ENOENT: .missing
            case EACCES, EPERM, EROFS: .denied
            default: .failed
            }
        self.init(kind, attempt: attempt, reason: error.reason)
    }
}
