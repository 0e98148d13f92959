import Engine
import Glibc
import Logging

extension EngineError.Kind {
    /// The one translation of failures for the kernel; EIO only where nothing else is true.
    var errno: CInt {
        switch self {
        case .notFound: ENOENT
        case .exists: EEXIST
        case .isDirectory: EISDIR
        case .notDirectory: ENOTDIR
        case .notEmpty: ENOTEMPTY
        case .invalid, .noConflict, .ambiguous: EINVAL
        case .readOnly: EROFS
        case .denied, .contained: EACCES
        // What link(2), symlink(2) and mknod(2) name for a file system that has no such thing.
        case .unsupported: EPERM
        case .nameTooLong: ENAMETOOLONG
        case .tooLarge: EFBIG
        case .outOfSpace: ENOSPC
        case .tooManyOpen: ENFILE
        case .noAttribute: ENODATA
        case .unreachable: ETIMEDOUT
        case .changedRemotely: ESTALE
        case .busy: EBUSY
        case .interrupted: EINTR
        case .damaged, .failed: EIO
        }
    }

    /// How loudly a request that failed so is logged; nil for what programs meet every day.
    var logLevel: Logger.Level? {
        switch self {
        case .outOfSpace, .tooManyOpen, .damaged, .failed: .error
        case .unreachable, .changedRemotely: .warning
        case .denied, .contained: .info
        case .notFound, .exists, .isDirectory, .notDirectory, .notEmpty, .invalid, .noConflict,
            .ambiguous, .readOnly, .unsupported, .nameTooLong, .tooLarge, .noAttribute, .busy,
            .interrupted:
            nil
        }
    }
}
