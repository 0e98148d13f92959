import CHost
package import Engine
import Glibc
import Synchronization

/// An open file of a ``PosixDisk``.
///
/// Calls may come from any threads side by side; the kernel orders them.
package final class PosixFile: DiskFile {
    /// What is known of the way to the medium.
    private struct Durability {
        /// Whether the file's name is there, which it then stays.
        var nameIsDurable = false
        /// The first failure of an `fsync`. The kernel reports it once, then takes the lost pages
        /// for clean, so a later success would promise what is not so.
        var failure: SystemError?
    }

    private let handle: Descriptor
    private let path: DiskPath
    private let synchronizeName: @Sendable () throws(DiskError) -> Void
    private let durability = Mutex(Durability())

    /// - Parameter synchronizeName: Brings the file's name to the medium; called until it succeeds.
    init(
        _ handle: Descriptor, path: DiskPath,
        synchronizeName: @escaping @Sendable () throws(DiskError) -> Void
    ) {
        self.handle = handle
        self.path = path
        self.synchronizeName = synchronizeName
    }

    package var descriptor: Int32? { handle.rawValue }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(DiskError) -> Int {
        // No file has bytes beyond what the kernel can address.
        guard let start = Self.start(of: buffer.count, at: offset) else { return 0 }
        do {
            return try PosixIO.read(handle.rawValue, into: buffer, at: start)
        } catch {
            throw DiskError(
                error, attempt: "read \(buffer.count) bytes at \(offset) of \"\(path)\"")
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
        do throws(SystemError) {
            guard let start = Self.start(of: bytes.count, at: offset) else { throw .init(EFBIG) }
            try PosixIO.write(handle.rawValue, bytes, at: start)
        } catch {
            throw DiskError(
                error, attempt: "write \(bytes.count) bytes at \(offset) of \"\(path)\"")
        }
    }

    package func truncate(to size: UInt64) throws(DiskError) {
        do throws(SystemError) {
            guard let length = Int64(exactly: size) else { throw .init(EFBIG) }
            _ = try retryingInterrupts { ftruncate(handle.rawValue, off_t(length)) }
        } catch {
            throw DiskError(
                error, attempt: "set the size of \"\(path)\" to \(size)", setsLength: true)
        }
    }

    /// Once this has failed, it fails for as long as the file stays open: what it could not bring to
    /// the medium may be lost. Write the bytes again, to another file.
    package func synchronize() throws(DiskError) {
        try synchronizeBytes()
        if durability.withLock({ $0.nameIsDurable }) { return }
        try synchronizeName()
        durability.withLock { $0.nameIsDurable = true }
    }

    private func synchronizeBytes() throws(DiskError) {
        do throws(SystemError) {
            if let failure = durability.withLock({ $0.failure }) { throw failure }
            try handle.synchronize()
        } catch {
            durability.withLock { $0.failure = $0.failure ?? error }
            throw DiskError(error, attempt: "write \"\(path)\" through to the disk")
        }
    }

    package func status() throws(DiskError) -> DiskFileStatus {
        do {
            return DiskFileStatus(try handle.status())
        } catch {
            throw DiskError(error, attempt: "read the status of \"\(path)\"")
        }
    }

    package func setModified(_ time: Timestamp) throws(DiskError) {
        let times = [
            timespec(tv_sec: 0, tv_nsec: apus_utime_omit),
            timespec(tv_sec: Int(time.seconds), tv_nsec: Int(time.nanosecondsOfSecond)),
        ]
        do {
            _ = try retryingInterrupts { futimens(handle.rawValue, times) }
        } catch {
            throw DiskError(error, attempt: "set the modification time of \"\(path)\"")
        }
    }

    package func setExtendedAttributes(_ attributes: ExtendedAttributes) throws(DiskError) {
        do throws(SystemError) {
            for name in attributes.names {
                let text = name.map(CChar.init(bitPattern:)) + [0]
                let value = attributes[name] ?? []
                _ = try retryingInterrupts {
                    fsetxattr(handle.rawValue, text, value, value.count, 0)
                }
            }
        } catch {
            throw DiskError(error, attempt: "set the extended attributes of \"\(path)\"")
        }
    }

    /// `offset` as the kernel takes it; nil where `count` bytes from there on pass its end.
    private static func start(of count: Int, at offset: UInt64) -> Int64? {
        guard let start = Int64(exactly: offset), start <= Int64.max - Int64(count) else {
            return nil
        }
        return start
    }
}

extension DiskFileStatus {
    /// - Parameter status: Its blocks are 512 bytes each, whatever the file system's are.
    init(_ status: stat) {
        self.init(
            size: UInt64(status.st_size), allocatedBytes: UInt64(status.st_blocks) * 512,
            modified: Timestamp(
                seconds: Int64(status.st_mtim.tv_sec),
                nanoseconds: Int64(status.st_mtim.tv_nsec)))
    }
}
