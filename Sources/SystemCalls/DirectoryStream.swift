import Glibc

/// The entries of an open directory, in the file system's order.
package final class DirectoryStream: @unchecked Sendable {  // sound: used by one call at a time
    private let stream: OpaquePointer

    package init(_ directory: Descriptor) throws(SystemError) {
        // The stream closes its descriptor, so it gets a copy.
        let copy = try retryingInterrupts { fcntl(directory.rawValue, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last
            close(copy)
            throw error
        }
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    /// - Returns: The bytes of the next name, and its type, `DT_REG` for instance; nil at the end.
    package func next() throws(SystemError) -> (name: [UInt8], type: UInt8)? {
        errno = 0
        guard let entry = readdir(stream) else {
            if errno != 0 { throw .last }
            return nil
        }
        // The declared length of the array means nothing: use the address of its first byte.
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
            preconditionFailure("d_name is a stored field")
        }
        let start = UnsafeRawPointer(entry).advanced(by: offset)
        let count = strlen(start.assumingMemoryBound(to: CChar.self))
        return (Array(UnsafeRawBufferPointer(start: start, count: count)), entry.pointee.d_type)
    }
}
