import CLinux
import Glibc

/// The text of a small file, with the owner and the permissions that it had when it was read.
package struct SmallFile: Sendable {
    /// Why a file cannot be read.
    package enum Failure: Error, Hashable {
        case system(SystemError)
        case notRegular
        case tooLong
    }

    package static let bytesMax = 1 << 20

    package let text: String
    package let ownerID: UInt32
    /// The permission bits.
    package let mode: UInt32

    /// - Returns: nil if there is no such file.
    package init?(at path: String) throws(Failure) {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .system(.last)
        }
        let descriptor = Descriptor(adopting: number)
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .notRegular
        }
        guard status.st_size <= Self.bytesMax else { throw .tooLong }
        do throws(SystemError) {
            let bytes = try PosixIO.read(descriptor.rawValue, count: Self.bytesMax)
            text = String(decoding: bytes, as: UTF8.self)
        } catch {
            throw .system(error)
        }
        ownerID = status.st_uid
        mode = status.st_mode & 0o7777
    }
}
