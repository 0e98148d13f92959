import Glibc

/// Reads and writes that continue after short counts and signals, at an offset or at the
/// descriptor's position.
package enum PosixIO {
    /// Reads until the buffer is full or the file ends.
    ///
    /// - Parameter offset: At most `Int64.max` less the buffer's length.
    /// - Returns: The number of bytes read.
    package static func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64? = nil
    ) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = try retryingInterrupts {
                offset.map { pread(descriptor, rest.baseAddress, rest.count, off_t($0) + done) }
                    ?? Glibc.read(descriptor, rest.baseAddress, rest.count)
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Reads `count` bytes, or fewer at the end of the file.
    package static func read(
        _ descriptor: Int32, count: Int, at offset: Int64? = nil
    ) throws(SystemError) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            do throws(SystemError) {
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                filled = try read(descriptor, into: buffer, at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all bytes.
    ///
    /// - Parameter offset: At most `Int64.max` less the bytes' length.
    package static func write(
        _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64? = nil
    ) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            done += try retryingInterrupts {
                offset.map { pwrite(descriptor, rest.baseAddress, rest.count, off_t($0) + done) }
                    ?? Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
        }
    }

    package static func write(
        _ descriptor: Int32, _ bytes: [UInt8], at offset: Int64? = nil
    ) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
            try write(descriptor, UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    /// Waits for bytes at the descriptor's position.
    ///
    /// - Returns: At most `countMax` bytes; none at the end.
    package static func readSome(
        _ descriptor: Int32, countMax: Int = 4096
    ) throws(SystemError) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: countMax)
        let count = try retryingInterrupts { Glibc.read(descriptor, &buffer, countMax) }
        return Array(buffer.prefix(count))
    }

    /// Waits until a descriptor has one of the events.
    ///
    /// - Returns: false if the deadline came first, or the descriptor cannot be polled.
    package static func poll(
        _ descriptor: Int32, for events: Int32, until deadline: ContinuousClock.Instant? = nil
    ) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        let count = try? retryingInterrupts {
            let left = deadline.map { max(.zero, ContinuousClock.now.duration(to: $0)) }
            return Glibc.poll(
                &entry, 1,
                left.map { Int32(clamping: Int64(($0 / .milliseconds(1)).rounded(.up))) } ?? -1)
        }
        return (count ?? 0) > 0
    }
}
