import Foundation
import Glibc
import Synchronization
import Testing

extension MountedTests {
    /// Goal: requests that wait for the disk leave threads for those that do not.
    ///
    /// Method: a disk with one write a second for the daemon.
    @Suite(
        .enabled(if: LoopDisk.isPossible && WriteLimit.isPossible, "takes root and cgroup's blkio"),
        .timeLimit(.minutes(3)))
    struct `A state directory on a slow disk` {
        /// More than the daemon has threads for the kernel's requests.
        private static let count = 48

        @Test func `answers requests beside any number of fsyncs`() throws {
            let disk = try LoopDisk()
            defer { disk.remove() }
            var options = MountedFolder.Options()
            options.stateParent = disk.path
            try MountedFolder.with(options) { remote in
                try Files.makeDirectory("\(remote)/known")
                try Files.write([1], to: "\(remote)/known/file")
            } _: { folder in
                #expect(try Files.names(in: folder.local("known")) == ["file"])
                let paths = (0..<Self.count).map { folder.local("\($0)") }
                let limit = try WriteLimit(perSecond: 1, onDiskAt: disk.path, of: folder)
                defer { limit.remove() }
                let results = Mutex<[Result<Void, CallError>]>([])
                let begun = Mutex(0)
                for path in paths {
                    let thread = Thread {
                        let result = Result { () throws(CallError) in
                            let file = try OpenFile(path, O_WRONLY | O_CREAT)
                            try file.write([UInt8](repeating: 1, count: 1 << 16))
                            begun.withLock { $0 += 1 }
                            try file.synchronize()
                        }
                        results.withLock { $0.append(result) }
                    }
                    thread.stackSize = 1 << 18
                    thread.start()
                }
                try eventually("all have begun") { begun.withLock { $0 } == Self.count }
                for _ in 0..<50 {
                    #expect(try Files.names(in: folder.local("known")) == ["file"])
                    #expect(try Files.status(folder.local("known/file")).st_size == 1)
                }
                #expect(results.withLock(\.count) == 0, "all of them wait for the disk")
                limit.remove()
                try eventually("all are answered") { results.withLock(\.count) == Self.count }
                for result in results.withLock({ $0 }) { try result.get() }
            }
        }
    }
}

/// A limit on the writes that a daemon's threads may make to a disk, by version 1 of Linux's control
/// groups.
private struct WriteLimit {
    private static let parent = "/sys/fs/cgroup/blkio"

    static let isPossible = access("\(parent)/blkio.throttle.write_iops_device", W_OK) == 0

    private let group = "\(parent)/apus-test-\(UUID().uuidString)"

    init(perSecond: Int, onDiskAt path: String, of folder: MountedFolder) throws {
        let device = try Program.require("mountpoint", "-d", path)
        let daemon = try #require(folder.daemon)
        try Files.makeDirectory(group)
        try Files.write(
            Array("\(device.trimmingCharacters(in: .whitespacesAndNewlines)) \(perSecond)".utf8),
            to: "\(group)/blkio.throttle.write_iops_device")
        try Files.write(Array("\(daemon)".utf8), to: "\(group)/cgroup.procs")
    }

    /// Ends the limit. May be called twice.
    func remove() {
        for process in (try? String(contentsOfFile: "\(group)/cgroup.procs", encoding: .utf8))?
            .split(separator: "\n") ?? []
        {
            try? Files.write(Array(process.utf8), to: "\(Self.parent)/cgroup.procs")
        }
        rmdir(group)
    }
}
