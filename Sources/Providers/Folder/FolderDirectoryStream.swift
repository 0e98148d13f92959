import Engine
import Glibc
import ProviderSupport
import SystemCalls

/// The names in one directory, in the file system's order.
final class FolderDirectoryStream: @unchecked Sendable {  // sound: used by one call at a time
    let directory: FolderDirectory
    private let stream: OpaquePointer

    init(_ directory: FolderDirectory) throws(ProviderError) {
        let descriptor = try directory.readable()
        // The stream closes its descriptor, so it gets a copy.
        let copy = fcntl(descriptor.rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw ProviderError(.last, in: "fcntl") }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last
            close(copy)
            throw ProviderError(error, in: "fdopendir")
        }
        self.directory = directory
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    /// Returns the next entry.
    func next() throws(ProviderError) -> Entry {
        errno = 0
        guard let entry = readdir(stream) else {
            if errno != 0 { throw ProviderError(.last, in: "readdir") }
            return .end
        }
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
