import Simulation
import Testing

@testable import Engine

/// Evictions of many files: they return before the disk has removed all bytes.
@Suite("An eviction of many files") struct EvictionTests {
    private static let bytes = [UInt8](repeating: 7, count: 10_000)
    /// The space that a file takes.
    private static let space: UInt64 = 12_288

    /// A directory with files, each of which is read.
    ///
    /// - Parameter removesAtOnce: Whether evictions remove the bytes of all files before they return.
    private static func run(
        files: Int, removesAtOnce: Bool = false,
        settings: SimulatedMountSettings = SimulatedMountSettings(),
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = settings
        if !removesAtOnce { settings.engine.evictedAtOnceMax = 0 }
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

    private static func contents(_ it: Scenario) throws -> [DiskPath] {
        try it.mount.disk.files(below: StateFiles.contentFolder)
    }

    @Test func `returns before the bytes are removed, and counts them until they are`() throws {
        try Self.run(files: 150) { it in
            let report = try it.engine.evict(.root)
            #expect(report.files == 150)
            #expect(report.bytesFreed == 0)
            #expect(report.bytesLeaving == 150 * Self.space)
            #expect(report.refused.isEmpty)
            #expect(try Self.contents(it).count == 150)
            #expect(try it.status().localBytes == 150 * Self.space)
            try await it.wait(.seconds(1))
            #expect(try Self.contents(it).isEmpty)
            #expect(try it.status().localBytes == 0)
            #expect(try it.engine.evict(.root).files == 0)
            for index in [0, 70, 149] { #expect(try await it.read("f\(index)") == Self.bytes) }
        }
    }

    @Test func `has removed the bytes of a few files when it returns`() throws {
        try Self.run(files: 150, removesAtOnce: true) { it in
            let report = try it.engine.evict(.root)
            #expect(report.bytesFreed == 150 * Self.space)
            #expect(report.bytesLeaving == 0)
            #expect(try Self.contents(it).isEmpty)
        }
    }

    /// Goal: bytes that were fetched again are not removed.
    @Test func `leaves a file alone that is used again`() throws {
        try Self.run(files: 100) { it in
            _ = try it.engine.evict(.root)
            for index in 40..<50 { #expect(try await it.read("f\(index)") == Self.bytes) }
            let (written, inode) = (Array(Self.bytes.reversed()), try await it.find("f60"))
            try await it.write("f60", written)
            try await it.wait(.seconds(1))
            it.remote.setReachable(false)
            for index in 40..<50 { #expect(try await it.read("f\(index)") == Self.bytes) }
            #expect(try await it.read("f60") == written)
            let kept = try await (40..<50).asyncMap { try await it.find("f\($0)") } + [inode]
            #expect(
                try Set(Self.contents(it).map(\.description))
                    == Set(kept.map { StateFiles.content(of: $0).description }))
            #expect(try it.status().localBytes == 11 * Self.space)
            it.remote.setReachable(true)
            #expect(try await it.rest())
        }
    }

    @Test func `is finished by the next process if this one is killed`() throws {
        try Self.run(files: 100) { it in
            _ = try it.engine.evict(.root)
            await it.mount.kill()
            #expect(try Self.contents(it).count == 100)
            try it.mount.start()
            #expect(try it.status().localBytes == 0)
            try await it.wait(.seconds(1))
            #expect(try Self.contents(it).isEmpty)
            #expect(try await it.read("f0") == Self.bytes)
        }
    }

    @Test func `is finished by the end of the mount`() throws {
        try Self.run(files: 100) { it in
            _ = try it.engine.evict(.root)
            await it.mount.stop()
            #expect(try Self.contents(it).isEmpty)
        }
    }

    /// Method: the removal of one file fails.
    @Test func `does not stop at a file that cannot be removed`() throws {
        try Self.run(files: 100) { it in
            _ = try it.engine.evict(.root)
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 20, count: 1))
            try await it.wait(.seconds(1))
            #expect(try Self.contents(it).count == 1)
            for index in 0..<100 { #expect(try await it.read("f\(index)") == Self.bytes) }
            #expect(try it.status().localBytes == 100 * Self.space)
        }
    }

    /// Goal: space that is about to be free costs no other file its bytes.
    @Test func `gives its space to the next need, before other files do`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 150 * Self.space
        settings.engine.evictedAtOnceMax = 0
        try Scenario.run(settings: settings) { remote in
            for name in ["old", "new"] { try remote.otherClientMakesDirectory(Scenario.key(name)) }
            for index in 0..<149 {
                let directory = index < 70 ? "old" : "new"
                try remote.otherClientWrites(Scenario.key("\(directory)/f\(index)"), Self.bytes)
            }
            try remote.otherClientWrites(
                Scenario.key("large"), [UInt8](repeating: 1, count: 40 * Int(Self.space)))
        } _: { it in
            for index in 0..<149 {
                _ = try await it.read("\(index < 70 ? "old" : "new")/f\(index)")
            }
            try await it.wait(.seconds(10))
            let evicted = try it.engine.evict(try await it.find("new"))
            #expect(evicted.bytesLeaving == 79 * Self.space)
            let freed = try it.engine.local.space.makeRoom(40 * Self.space)
            #expect(freed >= 40 * Self.space)
            #expect(try it.status().localBytes <= 109 * Self.space)
            #expect(try await it.read("large").count == 40 * Int(Self.space))
            it.remote.setReachable(false)
            for index in 0..<70 { #expect(try await it.read("old/f\(index)") == Self.bytes) }
        }
    }

    /// Goal: a need is not taken for met by files whose bytes stay.
    @Test func `counts no space that the disk keeps`() throws {
        try Self.run(files: 100) { it in
            _ = try it.engine.evict(.root)
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 0, count: .max))
            #expect(it.engine.local.space.unneeded.evicted.clear(atLeast: .max) == 0)
            it.mount.disk.setFaults(DiskFaultPlan())
            #expect(try Self.contents(it).count == 100)
        }
    }

    @Test func `gives its space to a write on a full disk`() throws {
        var settings = SimulatedMountSettings()
        settings.diskBytes = 2 << 20
        try Self.run(files: 100, settings: settings) { it in
            _ = try it.engine.evict(.root)
            try it.engine.local.space.reserve(for: 1_200_000, "write")
            #expect(try Self.contents(it).count < 100)
        }
    }

    /// Goal: a disk that removes nothing does not cost the cache all of its files.
    @Test func `for a need stops if the disk removes nothing`() throws {
        try Self.run(files: 350) { it in
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 0, count: .max))
            let freed = try it.engine.local.space.evictLeastRecentlyUsed(atLeast: 1 << 30)
            #expect(freed == 0)
            let left = try it.engine.store.read { database in
                try database.value("SELECT count(*) FROM inodes WHERE presence > 0") ?? 0
            }
            #expect(left >= 200)
            it.mount.disk.setFaults(DiskFaultPlan())
            #expect(
                try it.engine.local.space.evictLeastRecentlyUsed(atLeast: 1 << 30)
                    == UInt64(left) * Self.space)
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(
        _ body: (Element) async throws -> Value
    ) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
