import GRDB
import Simulation
import Synchronization
import Testing

@testable import Engine

/// Goal: a start takes as long with many local files as with few, and repairs their state nevertheless.
@Suite("The start over local files") struct ContentSweepTests {
    private static let bytes = [UInt8](repeating: 7, count: 10_000)

    private static var onDisk: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        return settings
    }

    /// A remote with files, each of which is read.
    private static func run(
        files: Int, settings: SimulatedMountSettings = SimulatedMountSettings(),
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run(settings: settings) { remote in
            for index in 0..<files {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            for index in 0..<files { _ = try await it.read("f\(index)") }
            try await it.wait(.seconds(10))
            try await body(it)
        }
    }

    /// The space that the content files take.
    private static func allocatedBytes(_ it: Scenario) throws -> UInt64 {
        try it.mount.disk.files(below: StateFiles.contentFolder).reduce(0) {
            try $0 + it.mount.disk.open($1).status().allocatedBytes
        }
    }

    private static func content(_ path: String, _ it: Scenario) async throws -> DiskPath {
        StateFiles.content(of: try await it.find(path))
    }

    /// Method: counts the operations of disk and database before the mount is usable.
    @Test func `looks at no content before the mount, also after a power cut`() throws {
        let counts = try [1, 50].map { files in
            let count = Mutex<[Int]>([])
            try Self.run(files: files, settings: Self.onDisk) { it in
                await it.mount.stop()
                try it.mount.start()
                count.withLock { $0.append(it.mount.life.stepCount) }
                try await it.wait(.seconds(10))
                await it.mount.cutPower()
                try it.mount.start()
                count.withLock { $0.append(it.mount.life.stepCount) }
                #expect(try await it.read("f0") == Self.bytes)
            }
            return count.withLock { $0 }
        }
        #expect(counts[0] == counts[1])
    }

    @Test func `counts the space of a file that was open when the process died`() throws {
        try Self.run(files: 1) { it in
            let before = try it.status().localBytes
            let inode = try await it.find("f0")
            try await it.open(inode)
            try await it.write(Self.bytes, at: 1 << 20, of: inode)
            await it.mount.kill()
            // As if the last measurement was lost.
            try it.mount.start()
            try it.engine.store.write { try $0.setLocalBytes(1, of: inode) }
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(1))
            #expect(try it.status().localBytes == Self.allocatedBytes(it))
            #expect(try it.status().localBytes > before)
        }
    }

    @Test func `removes content that a killed process was fetching`() throws {
        try Self.run(files: 2) { it in
            let path = try await Self.content("f0", it)
            _ = try it.engine.evict(try await it.find("f0"))
            await it.mount.stop()
            _ = try it.mount.disk.open(path)
            try it.mount.start()
            try await it.wait(.seconds(1))
            let left = try it.mount.disk.files(below: StateFiles.contentFolder)
            #expect(left == [try await Self.content("f1", it)])
            #expect(try await it.read("f0") == Self.bytes)
        }
    }

    /// Method: the content goes as that of an evicted file does, whose eviction the power cut undoes.
    @Test(arguments: [true, false])
    func `fetches again what a power cut has taken of a file that the remote has`(
        isReadAtOnce: Bool
    ) throws {
        try Self.run(files: 2, settings: Self.onDisk) { it in
            let path = try await Self.content("f0", it)
            let before = try it.status().localBytes
            try it.engine.store.synchronize()
            await it.mount.cutPower()
            try it.mount.disk.remove(path)
            try it.mount.start()
            if !isReadAtOnce {
                try await it.wait(.seconds(1))
                #expect(try it.status().localBytes < before)
                #expect(try it.status().localBytes == Self.allocatedBytes(it))
            }
            #expect(try await it.read("f0") == Self.bytes)
            try await it.wait(.seconds(10))
            #expect(try it.status().localBytes == Self.allocatedBytes(it))
            #expect(try it.status().pending.count == 0)
        }
    }

    /// Goal: the bytes of a file that the database has lost stay, and no other file gets them.
    ///
    /// Method: an older copy of the database is restored, as after its log was cut short or a virtual
    /// machine was rolled back.
    @Test(arguments: [true, false], [true, false])
    func `gives the number of content without an inode to no new one`(
        isReadAtOnce: Bool, isPowerCut: Bool
    ) throws {
        try Scenario.run { it in
            try await it.write("before", [0])
            #expect(try await it.rest())
            let copy = try it.mount.copyDatabase()
            it.remote.setReachable(false)
            try await it.write("only here", Self.bytes)
            let old = try await it.find("only here")
            try await it.wait(.seconds(10))
            if isPowerCut { await it.mount.cutPower() } else { await it.mount.kill() }
            try it.mount.restoreDatabase(copy)
            it.remote.setReachable(true)
            try it.remote.otherClientWrites(Scenario.key("theirs"), [3])
            try it.mount.start()
            if !isReadAtOnce { try await it.wait(.seconds(1)) }
            try await it.refresh()
            #expect(try await it.find("theirs") > old)
            #expect(try await it.read("theirs") == [3])
            try await it.write("new", [4])
            try await it.wait(.seconds(10))
            let lost = try it.mount.disk.files(below: StateFiles.lostFolder)
            #expect(lost.map(\.description) == ["lost+found/\(old)"])
            #expect(try lost.map { try it.mount.disk.open($0).read(20_000, at: 0) } == [Self.bytes])
            #expect(try await it.read("theirs") == [3])
            #expect(try await it.read("new") == [4])
        }
    }

    @Test func `ignores absurd numbers of content`() throws {
        try Scenario.run { it in
            try await it.write("a", [1])
            #expect(try await it.rest())
            let absurd = StateFiles.content(of: InodeNumber(rawValue: .max - 1))
            await it.mount.stop()
            try it.mount.disk.open(absurd).write([7], at: 0)
            try it.mount.start()
            try await it.write("b", [2])
            try await it.wait(.seconds(1))
            #expect(try await it.find("b").rawValue < 100)
            #expect(try it.mount.disk.files(below: StateFiles.lostFolder).count == 1)
        }
    }

    /// Goal: changed attributes do not make lost bytes of the remote version unreadable.
    @Test func `fetches again what a power cut has taken of a file with new attributes`() throws {
        try Self.run(files: 1, settings: Self.onDisk) { it in
            let path = try await Self.content("f0", it)
            try it.engine.store.synchronize()
            await it.mount.cutPower()
            try it.mount.disk.remove(path)
            try it.mount.start()
            var change = AttributeChange()
            change.mode = 0o600
            _ = try it.engine.setAttributes(of: try await it.find("f0"), to: change)
            #expect(try await it.read("f0") == Self.bytes)
            #expect(try await it.rest())
            #expect(try await it.read("f0") == Self.bytes)
        }
    }

    /// Goal: the bound of the cache includes what the process before has left.
    @Test func `counts leftovers that it has not found yet`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 40_000
        try Self.run(files: 20, settings: settings) { it in
            let path = try await Self.content("f0", it)
            _ = try it.engine.evict(.root)
            await it.mount.stop()
            try it.mount.disk.open(path).write([UInt8](repeating: 1, count: 36_000), at: 0)
            try it.mount.start()
            _ = it.mount.disk.takeUsedBytesMax()
            for index in 1..<20 { #expect(try await it.read("f\(index)") == Self.bytes) }
            #expect(it.mount.disk.takeUsedBytesMax() <= 40_000 + 4 * 12_288)
            #expect(try await it.read("f0") == Self.bytes)
        }
    }

    /// Method: all is done before any task in the background runs. The cache has room for four files beside
    /// the three that are here.
    @Test func `lets fetches go on although leftovers are not found yet`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 7 * 12_288
        try Self.run(files: 4, settings: settings) { it in
            let inode = try await it.find("f3")
            _ = try it.engine.evict(inode)
            await it.mount.stop()
            for index in 1...100 {
                let path = StateFiles.content(of: InodeNumber(rawValue: 1_000 + Int64(index)))
                _ = try it.mount.disk.open(path)
            }
            try it.mount.start()
            let (content, space) = (it.engine.local.content, it.engine.local.space)
            let file = try content.retain(inode)
            defer { content.releaseUse(of: inode) }
            let local = try space.cache.localBytes()
            for _ in 0..<7 {
                #expect(try space.admit(12_288, of: file, for: .readahead) == .admitted)
            }
            #expect(try space.cache.localBytes() < local, "it has evicted instead")
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).count > 100)
            space.cache.release(7 * 12_288)
            try await it.wait(.seconds(1))
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).count <= 4)
        }
    }

    /// Refuses all commits, as a full disk does.
    private final class Refusal: TransactionObserver, Sendable {
        let isRefusing = Mutex(false)

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws {
            if isRefusing.withLock({ $0 }) { throw DatabaseError(resultCode: .SQLITE_FULL) }
        }
        func databaseDidCommit(_ database: Database) {}
        func databaseDidRollback(_ database: Database) {}
    }

    /// Method: the database can be written again only later.
    @Test(arguments: [true, false])
    func `counts the space of a file that is not recorded at its close`(
        isReadAgain: Bool
    ) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("f0"), Self.bytes)
        } _: { it in
            let inode = try await it.find("f0")
            let refusal = Refusal()
            try it.engine.store.write {
                $0.add(transactionObserver: refusal, extent: .databaseLifetime)
            }
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            _ = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.read(inode, at: 0, length: Self.bytes.count)
            }
            refusal.isRefusing.withLock { $0 = true }
            it.engine.release(inode, access: .read)
            let cache = it.engine.local.space.cache
            #expect(try Self.allocatedBytes(it) > 0)
            #expect(try cache.localBytes() == Self.allocatedBytes(it))
            try await it.wait(.seconds(20))
            #expect(try cache.localBytes() == Self.allocatedBytes(it))
            refusal.isRefusing.withLock { $0 = false }
            if isReadAgain {
                #expect(try await it.read("f0") == Self.bytes)
                #expect(try cache.localBytes() == Self.allocatedBytes(it))
            }
            try await it.wait(.seconds(20))
            #expect(cache.unrecordedFiles == [])
            #expect(try cache.localBytes() == Self.allocatedBytes(it))
            #expect(try await it.read("f0") == Self.bytes)
        }
    }

    /// Method: counts the operations of disk and database before the mount is usable. The files are pending,
    /// and have long been on the disk.
    @Test func `looks at no file that is to be sent before the mount`() throws {
        let counts = try [1, 50].map { files in
            let count = Mutex(0)
            try Scenario.run(settings: Self.onDisk) { it in
                #expect(try await it.names(in: "") == [])
                it.remote.setReachable(false)
                for index in 0..<files { try await it.write("f\(index)", Self.bytes) }
                try await it.wait(.seconds(30))
                try it.engine.store.synchronize()
                await it.mount.cutPower()
                try it.mount.start()
                count.withLock { $0 = it.mount.life.stepCount }
                for index in 0..<files { #expect(try await it.read("f\(index)") == Self.bytes) }
                it.remote.setReachable(true)
                #expect(try await it.rest())
                for index in 0..<files { #expect(it.remoteBytes("f\(index)") == Self.bytes) }
            }
            return count.withLock { $0 }
        }
        #expect(counts[0] == counts[1])
    }

    @Test func `clears leftovers away before it refuses bytes on a full disk`() throws {
        var settings = SimulatedMountSettings()
        settings.diskBytes = 1 << 20
        try Self.run(files: 1, settings: settings) { it in
            let path = try await Self.content("f0", it)
            _ = try it.engine.evict(.root)
            await it.mount.stop()
            try it.mount.disk.open(path).write([UInt8](repeating: 1, count: 950_000), at: 0)
            try it.mount.start()
            try await it.write("new", [UInt8](repeating: 2, count: 500_000))
            #expect(try await it.read("new").count == 500_000)
        }
    }

    /// Method: the listing of the contents fails.
    @Test func `measures content although leftovers cannot be found`() throws {
        try Self.run(files: 2) { it in
            let inode = try await it.find("f0")
            try it.engine.store.write { try $0.setLocalBytes(1, of: inode) }
            await it.mount.kill()
            try it.mount.start()
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 0, count: 1))
            try await it.wait(.seconds(1))
            #expect(try it.status().localBytes == Self.allocatedBytes(it))
        }
    }

    /// Method: a call for one of the files fails, in turn the one that measures it and the one that
    /// removes it.
    @Test(arguments: [20, 21])
    func `an eviction keeps no files but the one that cannot be removed`(failure: Int) throws {
        try Self.run(files: 50) { it in
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: failure, count: 1))
            let report = try it.engine.evict(.root)
            #expect(report.files == 49)
            #expect(report.refused.count == 1)
            #expect(report.refused.allSatisfy { $0.reason.contains("Input/output error") })
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).count == 1)
            for index in 0..<50 { #expect(try await it.read("f\(index)") == Self.bytes) }
        }
    }

    @Test func `the files of an eviction are bounded in number and bytes`() throws {
        func batches(_ bytes: [UInt64]) -> [Int] {
            let files = bytes.enumerated().map { index, bytes in
                LocalFile(
                    inode: InodeNumber(rawValue: Int64(index)), bytes: bytes, parent: .root)
            }
            let batches = Space.batches(of: files)
            #expect(batches.flatMap(\.self) == files.map(\.inode))
            return batches.map(\.count)
        }
        #expect(batches([]) == [])
        #expect(batches([UInt64](repeating: 4_096, count: 2_500)) == [1_024, 1_024, 452])
        #expect(batches([1 << 40, 1, 1, 1 << 40]) == [1, 2, 1])
        #expect(batches([40 << 20, 20 << 20, 20 << 20, 64 << 20, 1]) == [2, 1, 1, 1])
    }

    /// Method: counts the transactions that change something.
    @Test func `an eviction of a directory takes few transactions`() throws {
        try Self.run(files: 200) { it in
            let begun = Mutex(0)
            try it.engine.store.write { database in
                database.trace { event in
                    if "\(event)".hasPrefix("BEGIN IMMEDIATE") { begun.withLock { $0 += 1 } }
                }
            }
            let report = try it.engine.evict(.root)
            try it.engine.store.write { $0.trace(options: []) }
            #expect(report.files == 200)
            #expect(report.refused.isEmpty)
            #expect(begun.withLock { $0 } <= 6)
            #expect(try it.status().localBytes == 0)
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).isEmpty)
            for index in [0, 150] { #expect(try await it.read("f\(index)") == Self.bytes) }
        }
    }
}
