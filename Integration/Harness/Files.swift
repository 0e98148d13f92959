import Glibc
import Testing

/// POSIX calls on paths, with errors that name the call.
enum Files {
    static func write(_ bytes: [UInt8], to path: String) throws(CallError) {
        let file = try OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC)
        try file.write(bytes)
        try file.close()
    }

    /// Adds to a file, or gives a pipe a text.
    static func append(_ text: String, to path: String) throws(CallError) {
        let file = try OpenFile(path, O_WRONLY | O_APPEND)
        try file.append(Array(text.utf8))
        try file.close()
    }

    static func read(_ path: String) throws(CallError) -> [UInt8] {
        try OpenFile(path, O_RDONLY).readAll()
    }

    /// The mounts that are visible to this process; see proc_pid_mountinfo(5). The file tells no size, and
    /// each answer has a page of it at most, at which Foundation would end.
    static func mountTable() throws(CallError) -> String {
        let bytes = try OpenFile("/proc/self/mountinfo", O_RDONLY).read(1 << 20)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a file that others may be changing now holds just these bytes.
    ///
    /// One that is replaced between our look at it and our reading ends in ESTALE.
    static func holds(_ bytes: [UInt8], at path: String) throws(CallError) -> Bool {
        do throws(CallError) {
            return try read(path) == bytes
        } catch  where error.code == ESTALE || error.code == ENOENT {
            return false
        }
    }

    /// Replaces a file in one step, as a careful program does on the remote.
    static func replace(_ path: String, with bytes: [UInt8]) throws(CallError) {
        try write(bytes, to: path + ".new")
        try rename(path + ".new", to: path)
    }

    /// POSIX: `lstat`.
    static func status(_ path: String) throws(CallError) -> stat {
        var status = stat()
        try CallError.check(lstat(path, &status), "lstat \(path)")
        return status
    }

    static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    static func makeDirectory(_ path: String, mode: mode_t = 0o755) throws(CallError) {
        try CallError.check(mkdir(path, mode), "mkdir \(path)")
    }

    /// A new directory below `TMPDIR`, mode 0700. Its name is short, as paths of sockets are.
    static func makeTemporaryDirectory(
        _ prefix: String, in parent: String? = nil
    ) throws(CallError) -> String {
        let parent = parent ?? getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/\(prefix).XXXXXX".utf8CString)
        try CallError.check(mkdtemp(&template) == nil ? -1 : 0, "mkdtemp below \(parent)")
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func removeDirectory(_ path: String) throws(CallError) {
        guard rmdir(path) == -1 else { return }
        let code = errno
        var call = "rmdir \(path)"
        // The names that a test does not expect there explain its failure.
        if code == ENOTEMPTY, let names = try? names(in: path) { call += ", which has \(names)" }
        throw CallError(call: call, code: code)
    }

    static func unlink(_ path: String) throws(CallError) {
        try CallError.check(Glibc.unlink(path), "unlink \(path)")
    }

    static func rename(_ path: String, to newPath: String) throws(CallError) {
        try CallError.check(Glibc.rename(path, newPath), "rename \(path) to \(newPath)")
    }

    static func link(_ path: String, at newPath: String) throws(CallError) {
        try CallError.check(symlink(path, newPath), "symlink \(newPath)")
    }

    static func linkTarget(_ path: String) throws(CallError) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = buffer.withUnsafeMutableBytes {
            readlink(path, $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        try CallError.check(count, "readlink \(path)")
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    static func setMode(_ mode: mode_t, of path: String) throws(CallError) {
        try CallError.check(chmod(path, mode), "chmod \(path)")
    }

    /// Makes a directory refuse new names and removals, even by root.
    static func forbidChanges(in directory: String) throws {
        if geteuid() == 0 {
            try Program.require("chattr", "+i", directory)
        } else {
            try setMode(0o555, of: directory)
        }
    }

    /// Undoes ``forbidChanges(in:)``, and has no effect without it.
    static func allowChanges(in directory: String) throws {
        if geteuid() == 0 {
            try Program.require("chattr", "-i", directory)
        } else {
            try setMode(0o755, of: directory)
        }
    }

    static func setModified(seconds: Int, nanoseconds: Int, of path: String) throws(CallError) {
        let time = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
        let result = [time, time].withUnsafeBufferPointer {
            utimensat(AT_FDCWD, path, $0.baseAddress, AT_SYMLINK_NOFOLLOW)
        }
        try CallError.check(result, "utimensat \(path)")
    }

    /// The names in a directory, sorted, without `.` and `..`.
    static func names(in path: String) throws(CallError) -> [String] {
        let listing = try OpenDirectory(path)
        var names: [String] = []
        while let name = try listing.next() { names.append(name) }
        return names.sorted()
    }
}
