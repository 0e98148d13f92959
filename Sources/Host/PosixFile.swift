import CLinux
package import Engine
import Glibc
import Synchronization
import SystemCalls

/// An open file of a ``PosixDisk``.
///
/// Calls may come from any thread, also concurrently; the kernel orders them.
package final class PosixFile: DiskFile {
    private let inode: OpenInode
    private let disk: PosixDisk.Root
    /// The failures of `fsync` before this was opened. As with a descriptor of its own, later ones are
    /// reported here too, even if another user of the file has seen them first.
    private let failuresBefore: Int

    /// Takes over one use of `inode`.
    init(_ inode: OpenInode, on disk: PosixDisk.Root) {
        self.inode = inode
        self.disk = disk
        failuresBefore = inode.state.withLock(\.failures)
    }

    deinit {
        disk.open.release(inode)
    }

    package func openDescriptor() throws(DiskError) -> (any OpenDescriptor)? {
        try DiskError.reporting("open \"\(path)\" again", disk.open.descriptor(of: inode))
    }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        // No file has bytes beyond the offsets that the kernel can address.
        guard let start = Self.start(of: buffer.count, at: offset) else { return 0 }
        return try withDescriptor("read \(buffer.count) bytes at \(offset) of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            try PosixIO.read(descriptor.rawValue, into: buffer, at: start)
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        try change("write \(bytes.count) bytes at \(offset) of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            guard let start = Self.start(of: bytes.count, at: offset) else { throw .init(EFBIG) }
            try PosixIO.write(descriptor.rawValue, bytes, at: start)
        }
    }

    package func truncate(to size: UInt64) throws(DiskError) {
        try change("set the size of \"\(path)\" to \(size)", setsLength: true) {
            (descriptor) throws(SystemError) in
            guard let length = Int64(exactly: size) else { throw .init(EFBIG) }
            _ = try retryingInterrupts { ftruncate(descriptor.rawValue, off_t(length)) }
        }
    }

    package func punchHole(_ range: Range<UInt64>) throws(DiskError) {
        try change("release \(range.count) bytes at \(range.lowerBound) of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            guard let start = Self.start(of: range.count, at: range.lowerBound) else {
                throw .init(EFBIG)
            }
            _ = try retryingInterrupts {
                apus_punch_hole(descriptor.rawValue, start, Int64(range.count))
            }
        }
    }

    /// After a failure this fails for as long as the file stays open, as the bytes may be lost: write
    /// them again, to another file.
    package func synchronize() throws(DiskError) {
        try withDescriptor("write \"\(path)\" through to the disk") {
            (descriptor) throws(SystemError) in
            try inode.synchronize(descriptor, after: failuresBefore)
        }
        try DiskError.reporting(
            "write the name \"\(path)\" through to the disk", inode.synchronizeName(disk))
    }

    package func requireStored() throws(DiskError) {
        try withDescriptor("wait for the bytes of \"\(path)\" to reach the disk") {
            (descriptor) throws(SystemError) in
            try inode.awaitWritten(descriptor, after: failuresBefore)
        }
    }

    package func status() throws(DiskError) -> DiskFileStatus {
        try withDescriptor("read the status of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            DiskFileStatus(try descriptor.status())
        }
    }

    package func isHole(_ range: Range<UInt64>) throws(DiskError) -> Bool {
        guard let start = Self.start(of: range.count, at: range.lowerBound) else { return true }
        return try withDescriptor("look for holes in \"\(path)\"") {
            (descriptor) throws(SystemError) in
            let data = lseek(descriptor.rawValue, off_t(start), apus_seek_data)
            // ENXIO: there is none up to the end.
            return data < 0 ? errno == ENXIO : data >= start + Int64(range.count)
        }
    }

    package func setModified(_ time: Timestamp) throws(DiskError) {
        let times = [
            timespec(tv_sec: 0, tv_nsec: apus_utime_omit),
            timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanosecondsOfSecond)),
        ]
        try withDescriptor("set the modification time of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            _ = try retryingInterrupts { futimens(descriptor.rawValue, times) }
        }
    }

    package func expectHoles(_ hasHoles: Bool) {
        inode.state.withLock { $0.hasHoles = hasHoles }
        // It is advice: without it, reads only cost more.
        try? withDescriptor("advise on \"\(path)\"") { (descriptor) throws(SystemError) in
            inode.advise(descriptor)
        }
    }

    package func isOpenElsewhere() -> Bool? {
        guard disk.hasLeases else { return nil }
        let result = try? withDescriptor("ask for a lease of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            apus_is_open_elsewhere(descriptor.rawValue)
        }
        guard let result, result >= 0 else { return nil }
        return result == 1
    }

    package func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        try withDescriptor("set the extended attributes of \"\(path)\"") {
            (descriptor) throws(SystemError) in
            for name in attributes.names {
                let text = name.map(CChar.init(bitPattern:)) + [0]
                let value = attributes[name] ?? []
                _ = try retryingInterrupts {
                    fsetxattr(descriptor.rawValue, text, value, value.count, 0)
                }
            }
        }
    }
}

// MARK: - Helpers

extension PosixFile {
    private var path: String { inode.state.withLock { $0.location.path } }

    /// Runs `body` with the file open.
    ///
    /// - Parameter attempt: For the error.
    private func withDescriptor<Result>(
        _ attempt: @autoclosure () -> String, setsLength: Bool = false,
        _ body: (Descriptor) throws(SystemError) -> Result
    ) throws(DiskError) -> Result {
        do throws(SystemError) {
            let descriptor = try disk.open.descriptor(of: inode)
            // The call below uses only its number.
            defer { withExtendedLifetime(descriptor) {} }
            return try body(descriptor)
        } catch {
            throw DiskError(error, attempt: attempt(), setsLength: setsLength)
        }
    }

    /// Changes the bytes. They count as not synchronised only afterwards, but before the
    /// descriptor may be closed: an `fsync` meanwhile may have missed them.
    private func change(
        _ attempt: @autoclosure () -> String, setsLength: Bool = false,
        _ body: (Descriptor) throws(SystemError) -> Void
    ) throws(DiskError) {
        try withDescriptor(attempt(), setsLength: setsLength) { (descriptor) throws(SystemError) in
            defer { inode.state.withLock { $0.isUnsynchronized = true } }
            try body(descriptor)
        }
    }

    /// `offset` as the kernel takes it; nil if `count` bytes from there exceed its range.
    private static func start(of count: Int, at offset: UInt64) -> Int64? {
        guard let start = Int64(exactly: offset), start <= Int64.max - Int64(count) else {
            return nil
        }
        return start
    }
}

extension DiskFileStatus {
    /// - Parameter status: Its blocks are 512 bytes each on every file system.
    init(_ status: stat) {
        self.init(
            size: UInt64(status.st_size), allocatedBytes: UInt64(status.st_blocks) * 512,
            modified: Timestamp(
                seconds: Int64(status.st_mtim.tv_sec),
                nanoseconds: Int64(status.st_mtim.tv_nsec)))
    }
}
