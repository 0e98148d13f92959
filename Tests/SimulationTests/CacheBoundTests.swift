import Simulation
import TestBytes
import Testing

@testable import Engine

/// Goal: the local content stays below the bound of the cache, and readers progress.
///
/// Method: the simulated disk holds only content, and knows the largest size that it ever had.
struct CacheBoundTests {
    private static let bound: UInt64 = 4 << 20
    /// How far readers may exceed the bound together; see ``CacheUse``.
    private static let overdraft: UInt64 = bound / 2

    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = bound
        settings.provider.pieceBytes = (64 << 10)...(256 << 10)
        settings.stepsMax = 1_000_000
        return settings
    }

    private static let request = 128 << 10

    /// - Parameter after: Called after each request.
    private static func readAll(
        _ path: String, expecting bytes: [UInt8], _ it: Scenario,
        after: () async throws -> Void = {}
    ) async throws {
        let inode = try await it.open(path)
        defer { it.engine.release(inode, access: .read) }
        for offset in stride(from: 0, to: bytes.count, by: request) {
            let part = try await it.bytes(
                of: inode, at: offset, count: min(request, bytes.count - offset))
            #expect(part == Array(bytes[offset..<min(offset + request, bytes.count)]))
            try await after()
        }
    }

    /// Method: files of several sizes are read in one minute, and one in a later one; then another that does
    /// not fit.
    @Test func `of files used in the same minute the largest is evicted first`() throws {
        let sizes = [300_000, 900_000, 600_000, 200_000]
        try Scenario.run(settings: Self.settings) { remote in
            for (index, size) in (sizes + [1_500_000, 2_000_000]).enumerated() {
                try remote.otherClientWrites(
                    Scenario.key("f\(index)"), TestBytes.random(size, seed: UInt64(index)))
            }
        } _: { it in
            for index in sizes.indices { _ = try await it.read("f\(index)") }
            try await it.wait(.seconds(120))
            _ = try await it.read("f4")
            try await it.wait(.seconds(120))
            _ = try await it.read("f5")
            try await it.wait(.seconds(10))
            var states: [ItemState] = []
            for index in 0..<6 {
                states.append(try it.engine.item(try await it.find("f\(index)")).state)
            }
            #expect(states == [.local, .remote, .remote, .local, .local, .local])
        }
    }

    /// Method: the disk has 8 MiB, of which 5 are to stay free; then its free space becomes less.
    @Test func `local copies leave free space, and give way when there is less`() throws {
        var settings = Self.settings
        settings.diskBytes = 8 << 20
        settings.engine.cacheBytesMax = 1 << 40
        settings.engine.keepFreeBytes = 5 << 20
        let files = (0..<12 as Range<UInt64>).map { TestBytes.random(500_000, seed: $0) }
        try Scenario.run(settings: settings) { remote in
            for (index, bytes) in files.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            for (index, bytes) in files.enumerated() {
                #expect(try await it.read("f\(index)") == bytes)
                #expect(try it.mount.disk.space().availableBytes >= 5 << 20)
            }
            #expect(try it.mount.disk.space().availableBytes < 6 << 20, "the rest is used")
            let others = try it.mount.disk.open(DiskPath("others"))
            try others.write(TestBytes.random(2 << 20, seed: 98), at: 0)
            try await it.wait(.seconds(7))
            #expect(try it.mount.disk.space().availableBytes >= 5 << 20)
            // Pinned files have to fit into the rest.
            let excess = try await it.engine.pins.pin([.root])
            #expect(excess?.bytesMax ?? 0 <= 1 << 20)
            #expect(excess?.bytes ?? 0 > 5 << 20)
            // Only changes may take of it.
            it.remote.setReachable(false)
            try await it.write("new", TestBytes.random(2 << 20, seed: 99))
            #expect(try await it.read("new") == TestBytes.random(2 << 20, seed: 99))
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `four readers of files larger than the cache stay below its bound`(
        seed: UInt64
    ) throws {
        let files = (0..<4 as Range<UInt64>).map { TestBytes.random(16 << 20, seed: $0) }
        try Scenario.run(seed: seed, settings: Self.settings) { remote in
            for (index, bytes) in files.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            _ = try await it.names(in: "")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, bytes) in files.enumerated() {
                    group.addTask { try await Self.readAll("f\(index)", expecting: bytes, it) }
                }
                try await group.waitForAll()
            }
            let most = it.mount.disk.takeUsedBytesMax()
            #expect(most <= Self.bound + Self.overdraft)
            // Fetches for closed files end with their next bytes.
            try await it.wait(.seconds(1))
            #expect(try it.status().localBytes == it.mount.disk.usedBytes)
            // The bound of a cache that nothing is wrong with is used, too.
            #expect(most > Self.bound / 2)
        }
    }

    @Test func `files that stay open take no more than the bound`() throws {
        let files = (0..<48 as Range<UInt64>).map { TestBytes.random(512 << 10, seed: $0) }
        try Scenario.run(settings: Self.settings) { remote in
            for (index, bytes) in files.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            _ = try await it.names(in: "")
            var open: [InodeNumber] = []
            for (index, bytes) in files.enumerated() {
                try await Self.readAll("f\(index)", expecting: bytes, it)
                open.append(try await it.open("f\(index)"))
                #expect(try await it.bytes(of: open[index], at: 9, count: 1) == [bytes[9]])
            }
            #expect(it.mount.disk.takeUsedBytesMax() <= Self.bound + Self.overdraft)
            // They are fetched again.
            for (index, bytes) in files.enumerated() {
                #expect(
                    try await it.bytes(of: open[index], at: 0, count: bytes.count) == bytes)
            }
            #expect(it.mount.disk.takeUsedBytesMax() <= Self.bound + Self.overdraft)
            for inode in open { it.engine.release(inode, access: .read) }
            #expect(try it.status().localBytes == it.mount.disk.usedBytes)
        }
    }

    @Test func `a file larger than the cache evicts behind its reader, not the others`() throws {
        let film = TestBytes.random(24 << 20, seed: 1)
        let others = (0..<16 as Range<UInt64>).map { TestBytes.random(64 << 10, seed: $0) }
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("film"), film)
            for (index, bytes) in others.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            for (index, bytes) in others.enumerated() {
                try await Self.readAll("f\(index)", expecting: bytes, it)
            }
            try await Self.readAll("film", expecting: film, it)
            #expect(it.mount.disk.takeUsedBytesMax() <= Self.bound + Self.overdraft)
            var local = 0
            for index in others.indices {
                let inode = try await it.find("f\(index)")
                if try it.engine.itemState(of: inode) == .local { local += 1 }
            }
            #expect(local > others.count / 2, "\(local) of \(others.count) are still local")
        }
    }

    @Test func `only changes exceed the bound, until they are uploaded`() throws {
        let piece = TestBytes.random(512 << 10, seed: 5)
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            for index in 0..<16 { try await it.write("new\(index)", piece) }
            #expect(it.mount.disk.usedBytes >= 8 << 20)
            #expect(try it.status().localBytes == it.mount.disk.usedBytes)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.wait(.seconds(10))
            #expect(it.mount.disk.usedBytes <= Self.bound)
            for index in 0..<16 { #expect(try await it.read("new\(index)") == piece) }
            #expect(it.mount.disk.usedBytes <= Self.bound + Self.overdraft)
        }
    }

    @Test func `a reader progresses while changes take more than the cache`() throws {
        let film = TestBytes.random(12 << 20, seed: 1)
        let piece = TestBytes.random(1 << 20, seed: 5)
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("film"), film)
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.denied, attempts: "new")
            for index in 0..<6 { try await it.write("new\(index)", piece) }
            try await Self.readAll("film", expecting: film, it)
            #expect(it.mount.disk.usedBytes <= 6 << 20 + Self.overdraft)
        }
    }

    @Test func `holes of a sparse file take no space in the cache`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("sparse", [1])
            let inode = try await it.find("sparse")
            try await it.open(inode)
            try await it.write([2], at: 64 << 20, of: inode)
            it.engine.release(inode, access: .write)
            #expect(try it.status().localBytes == 2 * 4_096)
        }
    }

    /// Method: the file is whole in the database; a power cut must not bring its extents back after
    /// bytes were dropped.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `bytes dropped from an open file are not served as zeros after a power cut`(
        seed: UInt64
    ) throws {
        var settings = Self.settings
        settings.keepsDatabaseOnDisk = true
        let film = TestBytes.random(3 << 20, seed: 1)
        let others = (0..<4 as Range<UInt64>).map { TestBytes.random(1 << 20, seed: $0) }
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("film"), film)
            for (index, bytes) in others.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            try await Self.readAll("film", expecting: film, it)
            // Long enough for it to count as safe.
            try await it.wait(.seconds(20))
            let inode = try await it.open("film")
            _ = try await it.bytes(of: inode, at: 0, count: 1)
            try await it.wait(.seconds(20))
            for (index, bytes) in others.enumerated() {
                _ = try await it.open("f\(index)")
                try await Self.readAll("f\(index)", expecting: bytes, it)
            }
            let state = try it.engine.itemState(of: inode)
            #expect(state == .partial || state == .remote)
            await it.mount.cutPower()
            try it.mount.start()
            try await Self.readAll("film", expecting: film, it)
        }
    }

    @Test func `evicting a directory costs no transaction for files with nothing here`() throws {
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientMakesDirectory(Scenario.key("e"))
            for index in 0..<50 {
                try remote.otherClientWrites(Scenario.key("d/f\(index)"), [1, 2, 3])
                try remote.otherClientWrites(Scenario.key("e/f\(index)"), [1, 2, 3])
            }
        } _: { it in
            _ = try await it.names(in: "d")
            _ = try await it.names(in: "e")
            #expect(try await it.read("d/f7") == [1, 2, 3])
            #expect(try await it.read("e/f7") == [1, 2, 3])
            let directory = try await it.find("d")
            let before = it.engine.store.commitCount
            let report = try it.engine.evict(directory)
            #expect(report.files == 1 && report.refused.isEmpty)
            #expect(it.engine.store.commitCount == before + 1)
            #expect(try it.engine.itemState(of: try await it.find("e/f7")) == .local)
            #expect(try it.engine.evict(.root).files == 1)
            let after = it.engine.store.commitCount
            #expect(try it.engine.evict(.root).files == 0)
            #expect(it.engine.store.commitCount == after)
        }
    }
}

extension Scenario {
    /// Opens a file for reading.
    fileprivate func open(_ path: String) async throws -> InodeNumber {
        let inode = try await find(path)
        try await engine.retrying { () throws(Blocked) in
            try engine.open(inode, access: .read, truncating: false)
        }
        return inode
    }

    /// Reads part of an open file, as one request.
    fileprivate func bytes(
        of inode: InodeNumber, at offset: Int, count: Int
    ) async throws -> [UInt8] {
        try await engine.retrying { () throws(Blocked) in
            let range = try engine.read(inode, at: UInt64(offset), length: count)
            return try onDisk(
                "read the content", do: range.file.read(range.count, at: UInt64(offset)))
        }
    }
}
