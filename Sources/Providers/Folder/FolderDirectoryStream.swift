import Engine
import Glibc
import ProviderSupport

/// The names in one directory, in the file system's order. Used by one thread.
struct FolderDirectoryStream: ~Copyable {
    private let stream: OpaquePointer
    /// The position of the next entry.
    private(set) var position: Int = 0

    /// - Parameter position: 0, or the ``position`` of an earlier stream.
    init(_ directory: FolderDirectory, from position: Int = 0) throws(ProviderError) {
        let descriptor = try directory.readable()
        // The stream closes its descriptor, so it gets a copy.
        let copy = fcntl(descriptor.number, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw ProviderError(.last, in: "fcntl") }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last
            close(copy)
            throw ProviderError(error, in: "fdopendir")
        }
        self.stream = stream
        if position != 0 { seekdir(stream, position) }
    }

    deinit {
        closedir(stream)
    }

    /// Returns the next entry.
    mutating func next() throws(ProviderError) -> Entry {
        errno = 0
        guard let entry = readdir(stream) else {
            if errno != 0 { throw ProviderError(.last, in: "readdir") }
            return .end
        }
        position = Int(entry.pointee.d_off)
        let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0
        let start = UnsafeRawPointer(entry).advanced(by: offset)
            .assumingMemoryBound(to: UInt8.self)
        var count = 0
        while start[count] != 0 { count += 1 }
        guard let name = FileName(Array(UnsafeBufferPointer(start: start, count: count))) else {
            return .unusable
        }
        return .name(name)
    }

    enum Entry {
        case name(FileName)
        /// `.`, `..`, or a name that is too long.
        case unusable
        case end
    }
}
