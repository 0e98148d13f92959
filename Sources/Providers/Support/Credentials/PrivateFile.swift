import Glibc
import SystemCalls

/// A file with secrets, which only its owner may access.
package enum PrivateFile {
    private static let bytesMax = 1 << 20

    /// - Returns: Its text; nil if there is no such file.
    /// - Throws: `.unavailable` with a remedy if other users may read or change it.
    package static func text(at path: String) throws(SourceError) -> String? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SourceError(
                .unavailable, "cannot open \(path): \(SystemError.last)",
                remedy: "make it readable for this user with 'chmod 600 \(path)'")
        }
        let descriptor = Descriptor(adopting: number)
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SourceError(
                .unavailable, "\(path) is not a file", remedy: "make it a file of mode 0600")
        }
        guard status.st_uid == geteuid() else {
            throw SourceError(
                .unavailable, "\(path) is owned by another user, who could change it",
                remedy: "take ownership with 'chown $USER \(path)'")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw SourceError(
                .unavailable, "\(path) contains secrets, and other users may open it",
                remedy: "restrict it with 'chmod 600 \(path)'")
        }
        guard status.st_size <= bytesMax else {
            throw SourceError(
                .unavailable, "\(path) is too long for a credentials file",
                remedy: "keep only credentials in it")
        }
        do {
            let bytes = try PosixIO.read(descriptor.rawValue, count: bytesMax)
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            throw SourceError(
                .unavailable, "cannot read \(path): \(error)", remedy: "check its disk")
        }
    }
}
