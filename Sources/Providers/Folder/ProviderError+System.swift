import Engine
import Glibc
import ProviderSupport
import SystemCalls

extension ProviderError {
    /// Converts a failed system call.
    ///
    /// - Parameter call: The system call: `open`, `rename`.
    init(_ error: SystemError, in call: String) {
        var cause: DiskError?
        if error.code == EMFILE || error.code == ENFILE {
            // For the engine a failure of this machine, not of the store.
            cause = DiskError(.tooManyOpen, attempt: call, reason: "\(error)")
        }
        self.init(Self.kind(of: error.code), "\(call): \(error)", cause: cause)
    }

    /// - Parameter call: As of ``init(_:in:)``.
    static func check(_ call: String, _ result: Int32) throws(ProviderError) {
        if result != 0 { throw ProviderError(.last, in: call) }
    }

    /// Translates the system's error numbers into the kinds that the engine distinguishes.
    static func kind(of code: Int32) -> Kind {
        switch code {
        case ENOENT, ENOTDIR, ELOOP: .missing
        case EEXIST: .exists
        case ENOTEMPTY: .notEmpty
        case EISDIR: .wrongKind
        case EACCES, EPERM, EROFS: .denied
        case ENOSPC, EDQUOT: .full
        case EAGAIN, EBUSY, EINTR, EDEADLK, ENOLCK, ETXTBSY, EMFILE, ENFILE, ENOMEM: .busy
        case EBADMSG: .corrupt
        case EFBIG, E2BIG, ERANGE, ENAMETOOLONG, EINVAL, EILSEQ, EOPNOTSUPP, ENOSYS, EXDEV, EMLINK,
            EOVERFLOW:
            .unsupported
        case EIO, ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN, EHOSTUNREACH, ENETDOWN, ENETUNREACH,
            ECONNREFUSED, ECONNRESET, ECONNABORTED, EPIPE, ENODEV, ENXIO, ENOMEDIUM, ESHUTDOWN,
            EREMOTEIO, EUCLEAN:
            .unreachable
        // Any other error may be passing, and its effect is unknown.
        default: .unreachable
        }
    }
}

/// Returns the value of `body`, or throws its failure as that of the system call `call`.
func reporting<Value>(
    _ call: String, _ body: @autoclosure () throws(SystemError) -> Value
) throws(ProviderError) -> Value {
    do {
        return try body()
    } catch {
        throw ProviderError(error, in: call)
    }
}
