import Glibc

/// Reads and writes that continue after short counts and signals.
enum PosixIO {
    /// Reads from `offset` on until the buffer is full or the file ends.
    ///
    /// - Parameter offset: At most `Int64.max` less the buffer's length.
    /// - Returns: The bytes read.
    static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try retryingInterrupts {
                pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + done)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// - Parameter offset: At most `Int64.max` less the bytes' length.
    static func write(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            done += try retryingInterrupts {
                pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + done)
            }
        }
    }
}
