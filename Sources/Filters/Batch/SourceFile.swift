import Glibc
import SystemCalls

/// An image file, read completely into memory.
struct SourceFile: Sendable {
    let path: RawPath
    let identity: FileIdentity
    let format: ImageFormat
    let bytes: [UInt8]

    /// Larger files are refused: configuration bounds memory, not the contents of a folder.
    static let bytesMax = 1 << 30
    private static let pieceBytes = 1 << 20

    /// Opens a file and, if it is an image, reads it completely.
    ///
    /// - Parameter isCancelled: Called between pieces.
    /// - Returns: nil if the file is not an image, or the run was cancelled.
    static func read(
        _ path: RawPath, isCancelled: () -> Bool
    ) throws(FileError) -> SourceFile? {
        // If a pipe has replaced the file, opening it must not block.
        let descriptor = path.withCString {
            open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        }
        guard descriptor >= 0 else { throw .lastCall("cannot open") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .lastCall("cannot get attributes") }
        guard status.st_mode & S_IFMT == S_IFREG else { return nil }
        let identity = FileIdentity(status)

        var bytes = try readPiece(descriptor, count: ImageFormat.signatureBytes)
        guard let format = ImageFormat(signature: bytes) else { return nil }
        guard identity.size <= bytesMax else {
            throw FileError("larger than \(bytesMax >> 20) MiB")
        }
        bytes.reserveCapacity(identity.size)
        while !isCancelled() {
            let piece = try readPiece(descriptor, count: pieceBytes)
            if piece.isEmpty {
                return SourceFile(path: path, identity: identity, format: format, bytes: bytes)
            }
            guard bytes.count + piece.count <= bytesMax else {
                throw FileError("larger than \(bytesMax >> 20) MiB")
            }
            bytes += piece
        }
        return nil
    }

    /// - Returns: `count` bytes, or fewer at the end of the file.
    private static func readPiece(
        _ descriptor: Int32, count: Int
    ) throws(FileError) -> [UInt8] {
        do {
            return try PosixIO.read(descriptor, count: count)
        } catch {
            throw FileError("cannot read", error)
        }
    }
}
