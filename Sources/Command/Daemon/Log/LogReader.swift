import Control
import Foundation
import SystemCalls

/// Reads the end of a daemon's log, and what is appended to it.
final class LogReader {
    private let path: String
    private var file: FileHandle
    private static let blockBytes = 64 << 10

    /// - Throws: `CommandFailure` if there is no log.
    init(_ path: String) throws {
        self.path = path
        file = try Self.opened(path)
    }

    private static func opened(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = SystemError.last
            throw CommandFailure(
                what: "read the log \(path)", why: "\(error)".lowercased(),
                remedy: error.code == ENOENT
                    ? "a mount with --foreground writes its log to its terminal" : nil)
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// Returns the last `count` lines, and continues after them.
    func lastLines(_ count: Int) throws -> Data {
        var start = try file.seekToEnd()
        var bytes = Data()
        while start > 0, bytes.count(where: { $0 == newline }) <= count {
            let piece = min(start, UInt64(Self.blockBytes))
            start -= piece
            try file.seek(toOffset: start)
            bytes = (try file.read(upToCount: Int(piece)) ?? Data()) + bytes
        }
        _ = try file.seekToEnd()
        var lines = 0
        let end = bytes.lastIndex { byte in
            if byte == newline { lines += 1 }
            return lines > count
        }
        return end.map { Data(bytes[($0 + 1)...]) } ?? bytes
    }

    /// Returns what was appended since the last call. The daemon renames a long log and begins another.
    func appended() throws -> Data {
        let rest = try file.readToEnd() ?? Data()
        guard rest.isEmpty, try isReplaced(), let fresh = try? Self.opened(path) else {
            return rest
        }
        // Lines that were written between the last reading and the renaming.
        let last = try file.readToEnd() ?? Data()
        file = fresh
        return try last + (file.readToEnd() ?? Data())
    }

    private func isReplaced() throws -> Bool {
        guard let current = FileStatus(at: path) else { return false }
        return try FileStatus(of: file.fileDescriptor).identity != current.identity
    }

    private var newline: UInt8 { UInt8(ascii: "\n") }
}
