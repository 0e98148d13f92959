import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

/// One open directory, with the operations on the names in it. Every call blocks.
///
/// No call follows a symbolic link, so a name never leads out of the directory.
final class FolderDirectory: Sendable {
    private let descriptor: Descriptor

    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
    }

    /// The effect of a rename on an object that has the new name.
    enum Replacement {
        case never
        case always
        /// The two objects swap their names.
        case exchange
    }

    /// Opens the object at `name`; POSIX: `openat` with `O_NOFOLLOW`.
    ///
    /// - Parameter mode: For a new file.
    func open(
        _ name: FileName, _ flags: Int32, mode: mode_t = 0
    ) throws(ProviderError) -> Descriptor {
        try Self.open(in: descriptor.rawValue, name.path, flags, mode: mode)
    }

    /// Opens a directory in this one for access to its entries. It need not be readable.
    func directory(_ name: FileName) throws(ProviderError) -> FolderDirectory {
        FolderDirectory(try open(name, FOLDER_O_PATH | O_DIRECTORY))
    }

    /// Opens the same directory for listing or synchronising.
    func readable() throws(ProviderError) -> Descriptor {
        try Self.open(in: descriptor.rawValue, [46, 0], O_RDONLY | O_DIRECTORY, mode: 0)
    }

    func status() throws(ProviderError) -> FolderStatus {
        try Self.status(in: descriptor.rawValue, [0])
    }

    /// nil if unknown.
    var fileSystem: (magic: UInt64, blockBytes: Int)? {
        var (magic, blockBytes): (UInt64, UInt64) = (0, 0)
        guard folder_file_system(descriptor.rawValue, &magic, &blockBytes) == 0 else { return nil }
        return (magic, Int(clamping: blockBytes))
    }

    /// The path of the directory, or of a name in it, for calls without a directory descriptor.
    func processPath(of name: FileName? = nil) -> [CChar] {
        let directory = "/proc/self/fd/\(descriptor.rawValue)".utf8.map(CChar.init(bitPattern:))
        return directory + (name.map { [47] + $0.path } ?? [0])
    }

    /// - Throws: `.missing`.
    func status(of name: FileName) throws(ProviderError) -> FolderStatus {
        try Self.status(in: descriptor.rawValue, name.path)
    }

    /// - Returns: nil if nothing has this name.
    func statusIfPresent(of name: FileName) throws(ProviderError) -> FolderStatus? {
        do {
            return try status(of: name)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
    }

    static func status(of file: Descriptor) throws(ProviderError) -> FolderStatus {
        try status(in: file.rawValue, [0])
    }

    func target(of name: FileName) throws(ProviderError) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlinkat(descriptor.rawValue, name.path, &buffer, buffer.count)
        guard count >= 0 else { throw ProviderError(.last, in: "readlink") }
        return buffer.prefix(count).map(UInt8.init(bitPattern:))
    }

    func makeDirectory(_ name: FileName, mode: mode_t) throws(ProviderError) {
        try check("mkdir", mkdirat(descriptor.rawValue, name.path, mode))
    }

    func makeSymlink(_ name: FileName, target: [UInt8]) throws(ProviderError) {
        let path = target.map(CChar.init(bitPattern:)) + [0]
        try check("symlink", symlinkat(path, descriptor.rawValue, name.path))
    }

    func removeFile(_ name: FileName) throws(ProviderError) {
        try check("unlink", unlinkat(descriptor.rawValue, name.path, 0))
    }

    func removeDirectory(_ name: FileName) throws(ProviderError) {
        guard unlinkat(descriptor.rawValue, name.path, Int32(AT_REMOVEDIR)) != 0 else { return }
        let error = SystemError.last
        // POSIX permits rmdir to return EEXIST instead of ENOTEMPTY.
        if error.code == EEXIST { throw ProviderError(SystemError(ENOTEMPTY), in: "rmdir") }
        throw ProviderError(error, in: "rmdir")
    }

    /// Renames `name`, within this directory or to another one.
    ///
    /// - Throws: `.unsupported` if the file system has no such replacement.
    func rename(
        _ name: FileName, to directory: FolderDirectory, _ newName: FileName,
        replacing replacement: Replacement
    ) throws(ProviderError) {
        let flags =
            switch replacement {
            case .never: FOLDER_RENAME_NOREPLACE
            case .always: FOLDER_RENAME_PLAIN
            case .exchange: FOLDER_RENAME_EXCHANGE
            }
        let code = folder_rename(
            descriptor.rawValue, name.path, directory.descriptor.rawValue, newName.path,
            UInt32(flags))
        guard code == 0 else { throw ProviderError(SystemError(-code), in: "rename") }
    }

    func link(
        _ name: FileName, to directory: FolderDirectory, _ newName: FileName
    ) throws(ProviderError) {
        try check(
            "link",
            linkat(descriptor.rawValue, name.path, directory.descriptor.rawValue, newName.path, 0))
    }

    /// Sets the modification time of `name`, also of a symbolic link itself.
    func setModified(_ name: FileName, to time: Timestamp) throws(ProviderError) {
        let times = time.asAccessAndModified
        try check(
            "utimensat",
            utimensat(descriptor.rawValue, name.path, times, FOLDER_AT_SYMLINK_NOFOLLOW))
    }

    /// Returns once the names in this directory survive power loss.
    func synchronize() throws(ProviderError) {
        let directory = try readable()
        guard fsync(directory.rawValue) != 0 else { return }
        let error = SystemError.last
        // Some file systems do not support this for directories, and do not need it.
        if error.code != EINVAL && error.code != EROFS {
            throw ProviderError(error, in: "fsync of a directory")
        }
    }

    private func check(_ call: String, _ result: Int32) throws(ProviderError) {
        if result != 0 { throw ProviderError(.last, in: call) }
    }

    private static func open(
        in directory: Int32, _ path: [CChar], _ flags: Int32, mode: mode_t
    ) throws(ProviderError) -> Descriptor {
        do {
            return Descriptor(
                adopting: try retryingInterrupts {
                    openat(directory, path, flags | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode)
                })
        } catch {
            throw ProviderError(error, in: "open")
        }
    }

    private static func status(
        in directory: Int32, _ path: [CChar]
    ) throws(ProviderError) -> FolderStatus {
        var status = folder_status()
        let code = folder_get_status(directory, path, &status)
        guard code == 0 else { throw ProviderError(SystemError(-code), in: "stat") }
        return FolderStatus(status)
    }
}

extension FileName {
    /// The bytes and a NUL, for C.
    var path: [CChar] { bytes.map(CChar.init(bitPattern:)) + [0] }
}

extension Timestamp {
    /// For `utimensat`: the access time stays unchanged.
    var asAccessAndModified: [timespec] {
        [
            timespec(tv_sec: 0, tv_nsec: apus_utime_omit),
            timespec(tv_sec: Int(seconds), tv_nsec: Int(nanosecondsOfSecond)),
        ]
    }
}
