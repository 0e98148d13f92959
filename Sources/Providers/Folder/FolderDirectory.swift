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
    /// The mount that directories below must belong to; nil if they may belong to any.
    private let mount: UInt64?
    /// The path of the directory for calls without a directory descriptor, without a NUL.
    private let processPath: [CChar]

    init(_ descriptor: Descriptor, mount: UInt64?) {
        self.descriptor = descriptor
        self.mount = mount
        processPath = "/proc/self/fd/\(descriptor.rawValue)".utf8.map(CChar.init(bitPattern:))
    }

    /// The effect of a rename on an object that has the new name, by the flags of renameat2(2).
    enum Replacement: UInt32 {
        case always = 0
        case never = 1
        /// The two objects swap their names.
        case exchange = 2
    }

    /// Opens the object at `name`; POSIX: `openat` with `O_NOFOLLOW`.
    ///
    /// - Parameter mode: For a new file.
    func open(
        _ name: FileName, _ flags: Int32, mode: mode_t = 0
    ) throws(ProviderError) -> Descriptor {
        try open(name.path, flags, mode: mode)
    }

    /// Opens a directory in this one for access to its entries. It need not be readable.
    ///
    /// - Throws: `.denied` if another file system is mounted on it, which is not to be entered.
    func directory(_ name: FileName) throws(ProviderError) -> FolderDirectory {
        let found = try open(name, apus_o_path | O_DIRECTORY)
        if let mount, try FolderStatus(of: found).mount != mount {
            throw ProviderError(
                .denied, "another file system is mounted there",
                remedy: "add \"?mounts=yes\" to the source to include it")
        }
        return FolderDirectory(found, mount: mount)
    }

    /// Opens the same directory for listing or synchronising.
    func readable() throws(ProviderError) -> Descriptor {
        try open([46, 0], O_RDONLY | O_DIRECTORY)
    }

    func isEmpty() throws(ProviderError) -> Bool {
        try FolderDirectoryStream(self).next() == nil
    }

    func status() throws(ProviderError) -> FolderStatus {
        try FolderStatus(of: descriptor)
    }

    /// nil if unknown.
    var fileSystem: statfs? {
        var found = statfs()
        return fstatfs(descriptor.rawValue, &found) == 0 ? found : nil
    }

    /// Watches this directory. It has to be readable.
    func watch(by inotify: Inotify, for flags: UInt32) throws(SystemError) -> Int32 {
        try inotify.watch(descriptor.rawValue, for: flags)
    }

    /// The path of the directory, or of a name in it, for calls without a directory descriptor.
    func processPath(of name: FileName? = nil) -> [CChar] {
        processPath + (name.map { [47] + $0.path } ?? [0])
    }

    /// - Throws: `.missing`.
    func status(of name: FileName) throws(ProviderError) -> FolderStatus {
        try FolderStatus(of: descriptor, name.path)
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

    /// The extended attributes of `name`; nil if the file system has none, or does not permit reading
    /// them.
    func attributes(of name: FileName) throws(ProviderError) -> ExtendedAttributes? {
        // Most files have none, and a path through `/proc` takes longer to resolve than this.
        if apus_attribute_names_size(descriptor.rawValue, name.path) == 0 {
            return ExtendedAttributes()
        }
        return try FolderAttributes.read(processPath(of: name), follows: false)
    }

    func target(of name: FileName) throws(ProviderError) -> [UInt8] {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlinkat(descriptor.rawValue, name.path, &buffer, buffer.count)
        guard count >= 0 else { throw ProviderError(.last, in: "readlink") }
        return buffer.prefix(count).map(UInt8.init(bitPattern:))
    }

    func makeDirectory(_ name: FileName, mode: mode_t) throws(ProviderError) {
        try ProviderError.check("mkdir", mkdirat(descriptor.rawValue, name.path, mode))
    }

    func makeSymlink(_ name: FileName, target: [UInt8]) throws(ProviderError) {
        let path = target.map(CChar.init(bitPattern:)) + [0]
        try ProviderError.check("symlink", symlinkat(path, descriptor.rawValue, name.path))
    }

    func removeFile(_ name: FileName) throws(ProviderError) {
        try ProviderError.check("unlink", unlinkat(descriptor.rawValue, name.path, 0))
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
        try ProviderError.check(
            "rename",
            apus_rename(
                descriptor.rawValue, name.path, directory.descriptor.rawValue, newName.path,
                replacement.rawValue))
    }

    func link(
        _ name: FileName, to directory: FolderDirectory, _ newName: FileName
    ) throws(ProviderError) {
        try ProviderError.check(
            "link",
            linkat(descriptor.rawValue, name.path, directory.descriptor.rawValue, newName.path, 0))
    }

    /// Sets the modification time of `name`, also of a symbolic link itself.
    func setModified(_ name: FileName, to time: Timestamp) throws(ProviderError) {
        let times = time.asAccessAndModified
        try ProviderError.check(
            "utimensat",
            utimensat(descriptor.rawValue, name.path, times, AT_SYMLINK_NOFOLLOW))
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

    private func open(
        _ path: [CChar], _ flags: Int32, mode: mode_t = 0
    ) throws(ProviderError) -> Descriptor {
        try reporting(
            "open",
            Descriptor(
                opening: path, in: descriptor.rawValue, flags: flags | O_NOFOLLOW | O_NOCTTY,
                mode: mode))
    }
}

/// The names in one directory, in the file system's order.
struct FolderDirectoryStream: Sendable {
    let directory: FolderDirectory
    private let stream: DirectoryStream

    init(_ directory: FolderDirectory) throws(ProviderError) {
        let readable = try directory.readable()
        self.directory = directory
        stream = try reporting("fdopendir", DirectoryStream(readable))
    }

    /// Skips `.`, `..` and names that are too long.
    ///
    /// - Returns: nil at the end.
    func next() throws(ProviderError) -> FileName? {
        while let entry = try reporting("readdir", stream.next()) {
            if let name = FileName(entry.name) { return name }
        }
        return nil
    }
}

extension FileName {
    /// The bytes and a NUL, for C.
    var path: [CChar] {
        [CChar](unsafeUninitializedCapacity: bytes.count + 1) { buffer, count in
            for (index, byte) in bytes.enumerated() {
                buffer.initializeElement(at: index, to: CChar(bitPattern: byte))
            }
            buffer.initializeElement(at: bytes.count, to: 0)
            count = bytes.count + 1
        }
    }
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
