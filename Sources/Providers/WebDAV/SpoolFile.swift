import Glibc
import ProviderSupport

/// An unnamed temporary file, removed with its last reference.
final class SpoolFile: Sendable {
    private let descriptor: OwnedDescriptor

    init() throws(SystemError) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(folder)/apus-listing.XXXXXX".utf8CString)
        let number = mkstemp(&template)
        guard number >= 0 else { throw .last }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        descriptor = OwnedDescriptor(owning: number)
        unlink(template)
    }

    func append(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeBytes { rest in
                pwrite(descriptor.number, rest.baseAddress, rest.count, off_t(offset + done))
            }
            if count > 0 {
                done += count
            } else if errno != EINTR {
                throw .last
            }
        }
    }

    func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        var done = 0
        while done < bytes.count {
            let count = bytes[done...].withUnsafeMutableBytes { rest in
                pread(
                    descriptor.number, rest.baseAddress, rest.count, off_t(range.lowerBound + done))
            }
            if count > 0 {
                done += count
            } else if count == 0 {
                throw SystemError(EIO)
            } else if errno != EINTR {
                throw .last
            }
        }
        return bytes
    }
}
