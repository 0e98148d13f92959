import Glibc
import SystemCalls

/// A small picture or text in a mount, to be shown beside another version of it.
struct FilePreview: Sendable {
    static let pictureBytesMax = 8 << 20
    static let textBytesMax = 256 << 10

    let bytes: [UInt8]
    let mediaType: String

    /// Reads a file through the mount, which downloads it if necessary; blocks as long as that takes.
    ///
    /// - Parameter path: In the form of ``MountService``. No part of it may be a symbolic link, so that
    ///   nothing outside the mount is read.
    /// - Throws: `.missing`; `.refused` if it is neither a small picture nor a short text.
    init(of path: String, in mountPoint: String) throws(ControlError) {
        do throws(SystemError) {
            bytes = try Self.read(path, in: mountPoint)
        } catch {
            throw ControlError(
                error.code == ENOENT ? .missing : .refused, what: "show \"\(path)\"",
                why: error.code == EFBIG ? "it is too large" : "\(error)".lowercased())
        }
        guard let mediaType = Self.mediaType(of: bytes) else {
            throw ControlError(
                .refused, what: "show \"\(path)\"", why: "it is neither a small picture nor a text")
        }
        self.mediaType = mediaType
    }

    private static func read(
        _ path: String, in mountPoint: String
    ) throws(SystemError) -> [UInt8] {
        var file = try Descriptor(opening: mountPoint, flags: O_RDONLY | O_DIRECTORY)
        for name in path.split(separator: "/") {
            // Neither waits for a pipe's other end.
            file = try Descriptor(
                opening: String(name), in: file.rawValue,
                flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        }
        let status = try FileStatus(of: file.rawValue)
        guard status.kind == .regular else { throw SystemError(EISDIR) }
        guard status.size <= pictureBytesMax else { throw SystemError(EFBIG) }
        return try PosixIO.read(file.rawValue, count: status.size)
    }

    /// Returns the type that the bytes prove, never one that can carry a script; nil for all others.
    static func mediaType(of bytes: [UInt8]) -> String? {
        switch bytes {
        case _ where bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A]): "image/png"
        case _ where bytes.starts(with: [0xFF, 0xD8, 0xFF]): "image/jpeg"
        case _ where bytes.starts(with: "GIF8".utf8): "image/gif"
        case _ where isWebP(bytes): "image/webp"
        case _ where isText(bytes): "text/plain; charset=utf-8"
        default: nil
        }
    }

    private static func isWebP(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: "RIFF".utf8) && bytes.dropFirst(8).starts(with: "WEBP".utf8)
    }

    private static func isText(_ bytes: [UInt8]) -> Bool {
        bytes.count <= textBytesMax && !bytes.contains(0)
            && String(validating: bytes, as: UTF8.self) != nil
    }
}
