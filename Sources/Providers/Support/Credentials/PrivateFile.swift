import Glibc

/// A file with secrets, which only its owner may access.
enum PrivateFile {
    private static let bytesMax = 1 << 20

    /// - Returns: Its text; nil if there is no such file.
    /// - Throws: `.unavailable` with a remedy if other users may read or change it.
    static func text(at path: String) throws(SourceError) -> String? {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SourceError(
                .unavailable, "cannot open \(path): \(SystemError.last)",
                remedy: "make it readable for this user with 'chmod 600 \(path)'")
        }
        let descriptor = OwnedDescriptor(owning: number)
        var status = stat()
        guard fstat(descriptor.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
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
        return String(decoding: try bytes(of: descriptor, path), as: UTF8.self)
    }

    private static func bytes(
        of descriptor: OwnedDescriptor, _ path: String
    ) throws(SourceError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= bytesMax {
            let count = read(descriptor.number, &buffer, buffer.count)
            if count == 0 { break }
            if count > 0 {
                bytes += buffer.prefix(count)
            } else if errno != EINTR {
                throw SourceError(
                    .unavailable, "cannot read \(path): \(SystemError.last)",
                    remedy: "check its disk")
            }
        }
        return bytes
    }
}
