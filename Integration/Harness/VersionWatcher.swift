import Foundation
import Glibc
import Synchronization

/// Reads a file on the remote at each of its changes, and judges each version.
final class VersionWatcher: Sendable {
    /// The versions of the file, in order.
    struct Versions: Sendable {
        /// The byte that a whole version consisted of.
        var whole: [UInt8] = []
        /// Descriptions of contents that consisted of several versions.
        var torn: [String] = []
    }

    private let path: String
    private let versions = Mutex(Versions())
    private let isStopped = Mutex(false)
    private let finished = DispatchSemaphore(value: 0)

    init(_ path: String) {
        self.path = path
    }

    func start() {
        let thread = Thread { [self] in
            watch()
            finished.signal()
        }
        thread.start()
    }

    /// Reads the file once more, and stops.
    @discardableResult
    func stop() -> Versions {
        let wasStopped = isStopped.withLock { value in
            defer { value = true }
            return value
        }
        if !wasStopped {
            finished.wait()
            look()
        }
        return versions.withLock { $0 }
    }

    /// Reads the file at every event of its directory, and at least every 50 ms.
    private func watch() {
        let queue = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        defer { close(queue) }
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        inotify_add_watch(
            queue, directory,
            UInt32(IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE))
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while !isStopped.withLock({ $0 }) {
            var event = pollfd(fd: queue, events: Int16(POLLIN), revents: 0)
            poll(&event, 1, 50)
            while read(queue, &buffer, buffer.count) > 0 {}
            look()
        }
    }

    private func look() {
        guard let file = try? OpenFile(path, O_RDONLY), let bytes = try? file.readAll() else {
            return
        }
        let kinds = Set(bytes)
        versions.withLock { versions in
            if kinds.count == 1, let byte = bytes.first, bytes.count == Self.size(of: byte) {
                if versions.whole.last != byte { versions.whole.append(byte) }
            } else {
                versions.torn.append("\(bytes.count) bytes of \(kinds.sorted())")
            }
        }
    }

    /// The size that tells a version, see the test.
    private static func size(of version: UInt8) -> Int { (3 << 20) + Int(version) * 4097 }
}
