import Glibc
import SystemCalls

/// The space that files take on the disk.
package enum DiskUsage {
    /// Returns the bytes of everything below a directory, and of the directory itself. What is removed
    /// meanwhile does not count. Links are not followed.
    ///
    /// - Parameter counted: Called after each file, with the number of files so far.
    /// - Returns: nil if the directory cannot be read.
    package static func bytes(
        ofDirectory path: String, counted: (_ files: Int) -> Void
    ) -> UInt64? {
        guard let directory = try? Descriptor(directory: path),
            let status = try? directory.status()
        else { return nil }
        var files = 0
        let below = try? bytes(below: directory) {
            files += 1
            counted(files)
        }
        return below.map { $0 + bytes(of: status) }
    }

    private static func bytes(
        below directory: Descriptor, counted: () -> Void
    ) throws(SystemError) -> UInt64 {
        let stream = try DirectoryStream(directory)
        var sum: UInt64 = 0
        while let name = try stream.next()?.name {
            if name == Array(".".utf8) || name == Array("..".utf8) { continue }
            let path = name.map(CChar.init(bitPattern:)) + [0]
            var status = stat()
            guard fstatat(directory.rawValue, path, &status, AT_SYMLINK_NOFOLLOW) == 0 else {
                if errno == ENOENT { continue }
                throw .last
            }
            sum += bytes(of: status)
            guard status.st_mode & S_IFMT == S_IFDIR else {
                counted()
                continue
            }
            let child = try? Descriptor(
                opening: path, in: directory.rawValue,
                flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            if let child { sum += try bytes(below: child, counted: counted) }
        }
        return sum
    }

    /// POSIX: `st_blocks` counts 512 bytes each.
    private static func bytes(of status: stat) -> UInt64 {
        UInt64(max(0, status.st_blocks)) * 512
    }
}
