import Glibc
import SystemCalls

/// Removes files and directories with everything in them. Keeps the names of one directory at each
/// level in memory.
struct TreeRemoval {
    /// Called after each removed file.
    let removed: () -> Void

    /// Removes a name, and what it leads to; nothing if it is missing. Links are not followed.
    func remove(_ name: [UInt8], in directory: Descriptor) throws(SystemError) {
        let path = name.map(CChar.init(bitPattern:)) + [0]
        do {
            _ = try retryingInterrupts { unlinkat(directory.rawValue, path, 0) }
            return removed()
        } catch {
            if error.code == ENOENT { return }
            // Linux reports EISDIR for a directory, POSIX EPERM.
            guard error.code == EISDIR || error.code == EPERM else { throw error }
        }
        let child = try Descriptor(
            opening: path, in: directory.rawValue, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        for name in try Self.names(in: child) { try remove(name, in: child) }
        _ = try retryingInterrupts { unlinkat(directory.rawValue, path, AT_REMOVEDIR) }
    }

    /// The names in a directory, of any bytes.
    static func names(in directory: Descriptor) throws(SystemError) -> [[UInt8]] {
        let stream = try DirectoryStream(directory)
        var names: [[UInt8]] = []
        while let name = try stream.next()?.name {
            if name != Array(".".utf8), name != Array("..".utf8) { names.append(name) }
        }
        return names
    }
}
