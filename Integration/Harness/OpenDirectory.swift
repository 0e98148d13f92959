import Glibc

/// A directory being listed. POSIX: `opendir`.
final class OpenDirectory {
    private let path: String
    private let stream: OpaquePointer

    init(_ path: String) throws(CallError) {
        guard let stream = opendir(path) else {
            throw CallError(call: "opendir \(path)", code: errno)
        }
        self.path = path
        self.stream = stream
    }

    deinit { closedir(stream) }

    /// The next name except `.` and `..`; nil at the end.
    func next() throws(CallError) -> String? {
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw CallError(call: "readdir \(path)", code: errno) }
                return nil
            }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { return name }
        }
    }

    /// A place to come back to with ``seek(to:)``.
    var place: Int { telldir(stream) }

    func seek(to place: Int) { seekdir(stream, place) }
}
