import Glibc

/// A file descriptor, closed at the latest when it goes out of scope.
final class OpenFile {
    let path: String
    private var descriptor: Int32

    init(_ path: String, _ flags: Int32, mode: mode_t = 0o644) throws(CallError) {
        self.path = path
        descriptor = try CallError.check(open(path, flags | O_CLOEXEC, mode), "open \(path)")
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    /// POSIX: `close`, whose result says whether the written bytes are safe.
    func close() throws(CallError) {
        let closing = descriptor
        descriptor = -1
        try CallError.check(Glibc.close(closing), "close \(path)")
    }

    /// Up to `count` bytes from `offset` on; fewer only at the end of the file.
    func read(_ count: Int, at offset: Int = 0) throws(CallError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var done = 0
        while done < count {
            let result = bytes.withUnsafeMutableBytes { buffer in
                pread(descriptor, buffer.baseAddress! + done, count - done, off_t(offset + done))
            }
            try CallError.check(result, "read \(path)")
            if result == 0 { break }
            done += result
        }
        bytes.removeLast(count - done)
        return bytes
    }

    func readAll() throws(CallError) -> [UInt8] {
        try read(Int(try status().st_size))
    }

    func write(_ bytes: some Collection<UInt8>, at offset: Int = 0) throws(CallError) {
        let bytes = Array(bytes)
        var done = 0
        while done < bytes.count {
            let result = bytes.withUnsafeBytes { buffer in
                pwrite(
                    descriptor, buffer.baseAddress! + done, bytes.count - done,
                    off_t(offset + done))
            }
            done += try CallError.check(result, "write \(path)")
        }
    }

    /// POSIX: `write`, at the descriptor's own offset: the end, with `O_APPEND`.
    func append(_ bytes: [UInt8]) throws(CallError) {
        let result = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        try CallError.check(result, "write \(path)")
    }

    func truncate(to size: Int) throws(CallError) {
        try CallError.check(ftruncate(descriptor, off_t(size)), "ftruncate \(path)")
    }

    /// Takes the file's clean pages out of the kernel's cache.
    func dropPages() throws(CallError) {
        let code = posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        if code != 0 { throw CallError(call: "posix_fadvise \(path)", code: code) }
    }

    func synchronize() throws(CallError) {
        try CallError.check(fsync(descriptor), "fsync \(path)")
    }

    func status() throws(CallError) -> stat {
        var status = stat()
        try CallError.check(fstat(descriptor, &status), "fstat \(path)")
        return status
    }
}
