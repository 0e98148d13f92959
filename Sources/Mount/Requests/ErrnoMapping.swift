import Engine
import Glibc
import Logging

extension EngineError.Kind {
    /// The only translation of failures for the kernel; EIO if nothing else applies.
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
        // As link(2), symlink(2) and mknod(2) specify for a file system without the feature.
        case .unsupported: EPERM
        case .nameTooLong: ENAMETOOLONG
        case .tooLarge: EFBIG
        case .outOfSpace: ENOSPC
        case .tooManyOpen: ENFILE
        case .crossDevice: EXDEV
        case .noAttribute: ENODATA
        case .unreachable: ETIMEDOUT
        case .changedRemotely: ESTALE
        case .busy: EBUSY
        case .interrupted: EINTR
        case .damaged, .failed: EIO
        }
    }

    /// The level at which a failed request is logged; nil for failures that are part of normal use.
    var logLevel: Logger.Level? {
        switch self {
        case .outOfSpace, .tooManyOpen, .damaged, .failed: .error
        case .unreachable, .changedRemotely: .warning
        case .denied, .contained: .info
        case .notFound, .exists, .isDirectory, .notDirectory, .notEmpty, .invalid, .noConflict,
            .ambiguous, .readOnly, .unsupported, .nameTooLong, .tooLarge, .crossDevice,
            .noAttribute, .busy, .interrupted:
            nil
        }
    }
}
