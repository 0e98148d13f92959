import Glibc
import SystemCalls

/// An unnamed temporary file, removed with its last reference.
final class SpoolFile: Sendable {
    private let descriptor: Descriptor

    init() throws(SystemError) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(folder)/apus-listing.XXXXXX".utf8CString)
        let number = mkstemp(&template)
        guard number >= 0 else { throw .last }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        descriptor = Descriptor(adopting: number)
        unlink(template)
    }

    func append(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        try PosixIO.write(descriptor.rawValue, bytes, at: Int64(offset))
    }

    func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        let bytes = try PosixIO.read(
            descriptor.rawValue, count: range.count, at: Int64(range.lowerBound))
        guard bytes.count == range.count else { throw SystemError(EIO) }
        return bytes
    }
}
