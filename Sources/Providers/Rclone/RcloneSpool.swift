import Engine
import Foundation
import Glibc
import ProviderSupport
import SystemCalls

/// Holds files for rclone, which can only upload files, in the private directory. Blocking calls run
/// on threads of its own.
struct RcloneSpool: Sendable {
    /// One file, until ``remove()``.
    struct File: Sendable {
        let directory: String
        let name: String

        func remove() {
            unlink("\(directory)/\(name)")
        }
    }

    let directory: RcloneDirectory
    let pool: BlockingPool

    private static let pieceBytes = 1 << 20

    /// Copies a source to a file that has the time to be set on the remote.
    func copy(_ source: any ByteSource, modified: Timestamp) async throws(ProviderError) -> File {
        let file = File(directory: directory.path, name: "\(UUID())")
        let result = await pool.run(onCancel: .finish) { () throws(ProviderError) in
            do throws(ProviderError) {
                try Self.fill(file, from: source, modified: modified)
            } catch {
                file.remove()
                throw error
            }
        }
        guard let result else {
            file.remove()
            throw ProviderError(.cancelled, "it was cancelled")
        }
        try result.get()
        return file
    }

    private static func fill(
        _ file: File, from source: any ByteSource, modified: Timestamp
    ) throws(ProviderError) {
        let path = "\(file.directory)/\(file.name)"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.localFailure() }
        defer { close(descriptor) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(UInt64(pieceBytes), max(1, source.size))), alignment: 4_096)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        while offset < source.size {
            let count: Int
            do {
                count = try source.read(into: buffer, at: offset)
            } catch {
                throw ProviderError(.source, "the bytes cannot be read", cause: error)
            }
            guard count > 0 else {
                throw ProviderError(.source, "the source ended at \(offset)")
            }
            do {
                try PosixIO.write(descriptor, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } catch {
                throw localFailure(error)
            }
            offset += UInt64(count)
        }
        let time = timespec(
            tv_sec: Int(modified.seconds), tv_nsec: Int(modified.nanosecondsOfSecond))
        guard futimens(descriptor, [time, time]) == 0 else { throw Self.localFailure() }
    }

    /// A passing error, since space may become free again.
    private static func localFailure(_ error: SystemError = .last) -> ProviderError {
        ProviderError(.busy, "cannot create a file for rclone in TMPDIR: \(error)")
    }
}
