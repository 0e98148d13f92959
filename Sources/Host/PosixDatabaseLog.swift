import CLinux
package import Engine
import Glibc
import Synchronization
import SystemCalls

/// The write-ahead log of an SQLite database, synced through a descriptor of its own.
///
/// The descriptor stays open, as the kernel reports a failed write once to each. It does not disturb
/// SQLite's locks, which end when any descriptor of a locked file is closed: they are on other
/// files.
package final class PosixDatabaseLog: DatabaseLog {
    private static let pieceBytes = 1 << 20

    private let path: String
    private let file = Mutex<Descriptor?>(nil)

    /// - Parameter path: The path of the database, which may be opened later.
    package init(ofDatabaseAt path: String) {
        self.path = "\(path)-wal"
    }

    package func synchronize() throws(DiskError) {
        try use("synchronize") { file throws(SystemError) in try file.synchronizeBytes() }
    }

    package func rewrite() throws(DiskError) {
        try use("rewrite") { file throws(SystemError) in
            var offset: Int64 = 0
            while true {
                let piece = try PosixIO.read(file.rawValue, count: Self.pieceBytes, at: offset)
                if piece.isEmpty { break }
                try PosixIO.write(file.rawValue, piece, at: offset)
                offset += Int64(piece.count)
            }
            try file.synchronizeBytes()
        }
    }

    private func use(
        _ verb: String, _ body: (Descriptor) throws(SystemError) -> Void
    ) throws(DiskError) {
        do throws(SystemError) {
            try file.withLock { known throws(SystemError) in
                if known == nil { known = try open() }
                guard let file = known else { return }
                // What is synced then is not the log.
                if try file.status().st_nlink == 0 { throw SystemError(ENOENT) }
                try body(file)
            }
        } catch {
            throw DiskError(error, attempt: "\(verb) \"\(path)\"")
        }
    }

    /// Opens the log, once its name survives power loss.
    private func open() throws(SystemError) -> Descriptor {
        let file = try Descriptor(opening: path, flags: O_RDWR)
        let end = path.lastIndex(of: "/") ?? path.startIndex
        try Descriptor(directory: String(path[..<end])).synchronize()
        return file
    }
}

extension Descriptor {
    /// Returns once all writes to the file are on the medium, with its length. POSIX: `fdatasync`.
    fileprivate func synchronizeBytes() throws(SystemError) {
        _ = try retryingInterrupts { fdatasync(rawValue) }
    }
}
