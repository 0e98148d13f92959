import Simulation
import Synchronization
import Testing

@testable import Engine

/// Partial files after a power cut.
@Suite("A power cut with a partial file")
struct PowerCutTests {
    private static let old = [UInt8](repeating: 7, count: 200_000)
    private static let new = [UInt8](repeating: 9, count: 4_096)

    /// - Parameter body: Runs with the first bytes of `file` written and synced, and the rest of it on a
    ///   remote that cannot be reached any more.
    private static func run(
        seed: UInt64, isSynchronized: Bool = true,
        _ body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), old)
        } _: { scenario in
            let inode = try await scenario.find("file")
            try await scenario.open(inode)
            scenario.remote.setReachable(false)
            try await scenario.write(new, at: 0, of: inode)
            if isSynchronized { try scenario.engine.synchronize(inode) }
            try await body(scenario, inode)
        }
    }

    /// Another program's `fsync` makes everything durable that the database says.
    private static func makeDatabaseDurable(_ scenario: Scenario) async throws {
        try await scenario.write("other", [1])
        try scenario.engine.synchronize(try await scenario.find("other"))
    }

    /// The file after the cut, with the remote back.
    private static func bytesAfterCut(_ scenario: Scenario) async throws -> [UInt8] {
        await scenario.mount.cutPower()
        scenario.remote.setReachable(true)
        try scenario.mount.start()
        return try await scenario.read("file")
    }

    /// Goal: bytes that another program writes during a slow `fsync` do not count as stored by it.
    ///
    /// Method: they are uploaded, and the power cut may tear them: the remote has all of them.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `bytes written during a sync are not taken for stored`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            try await it.write("file", Self.old)
            let inode = try await it.find("file")
            let engine = it.engine
            try await engine.retrying { () throws(Blocked) in
                try engine.open(inode, access: .read, truncating: false)
            }
            try await it.open(inode)
            let written = Mutex(false)
            it.mount.disk.setDuringSync {
                let result = Result { () throws(Blocked) in
                    try Self.new.withUnsafeBytes { bytes in
                        Result { () throws(Blocked) in
                            try engine.write(inode, bytes, at: 0)
                        }
                    }.get()
                }
                engine.release(inode, access: .write)
                written.withLock { $0 = (try? result.get()) != nil }
            }
            try engine.synchronize(inode)
            #expect(written.withLock { $0 })
            engine.release(inode, access: .read)
            #expect(try await it.rest())
            let bytes = Self.new + Self.old.dropFirst(Self.new.count)
            #expect(it.remoteBytes("file") == bytes)
            try await Self.makeDatabaseDurable(it)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file") == bytes)
        }
    }

    /// Goal: bytes that the database records during a slow `fsync` do not count as stored by it.
    ///
    /// Method: the file is not whole, so that its record of local bytes would be trusted after the cut.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `bytes recorded during a sync are not taken for stored`(seed: UInt64) throws {
        let part = 100_000..<(100_000 + Self.new.count)
        try Self.run(seed: seed, isSynchronized: false) { it, inode in
            let engine = it.engine
            it.mount.disk.setDuringSync {
                let result = Self.new.withUnsafeBytes { bytes in
                    Result { () throws(Blocked) in
                        try engine.write(inode, bytes, at: UInt64(part.lowerBound))
                    }
                }
                #expect(throws: Never.self) { try result.get() }
            }
            try engine.synchronize(inode)
            try await Self.makeDatabaseDurable(it)
            let bytes = try await Self.bytesAfterCut(it)
            #expect(bytes.starts(with: Self.new), "it was synchronised")
            #expect(bytes[part].allSatisfy { $0 == 7 || $0 == 9 }, "old or new")
        }
    }

    /// Goal: an upload that a power cut makes the database forget does not leave a file without bytes.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a file is evicted once the database is sure of its upload`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            try await it.write("file", Self.old)
            let inode = try await it.find("file")
            try await it.open(inode)
            try it.engine.synchronize(inode)
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            #expect(try it.engine.evict(inode).files == 1)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file") == Self.old)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a hole does not count as bytes`(seed: UInt64) throws {
        try Self.run(seed: seed) { scenario, inode in
            try await scenario.write(Self.new, at: 100_000, of: inode)
            try await Self.makeDatabaseDurable(scenario)
            let bytes = try await Self.bytesAfterCut(scenario)
            #expect(bytes.count == Self.old.count)
            #expect(bytes.starts(with: Self.new), "it was synchronised")
            let written = 100_000..<(100_000 + Self.new.count)
            #expect(bytes[written].allSatisfy { $0 == 7 || $0 == 9 }, "old or new")
            #expect(bytes[Self.new.count..<written.lowerBound].allSatisfy { $0 == 7 })
            #expect(bytes[written.upperBound...].allSatisfy { $0 == 7 })
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `growing the file does not lose synced bytes`(seed: UInt64) throws {
        try Self.run(seed: seed) { scenario, inode in
            try await scenario.write(Self.new, at: UInt64(Self.old.count), of: inode)
            try await Self.makeDatabaseDurable(scenario)
            let bytes = try await Self.bytesAfterCut(scenario)
            #expect(bytes.starts(with: Self.new), "it was synchronised")
            #expect(bytes[Self.new.count..<Self.old.count].allSatisfy { $0 == 7 })
        }
    }

    /// Method: the written bytes have long been on the disk when the rest is fetched, and the
    /// database records that.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `fetching the rest does not lose bytes written before`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), Self.old)
        } _: { scenario in
            let inode = try await scenario.find("file")
            scenario.remote.setReachable(false)
            try await scenario.open(inode)
            try await scenario.write(Self.new, at: 0, of: inode)
            scenario.engine.release(inode, access: .write)
            try await scenario.wait(.seconds(30))
            scenario.remote.refuse(.unreachable, attempts: "write")
            scenario.remote.setReachable(true)
            try await scenario.awaitReach()
            #expect(try await scenario.read("file").starts(with: Self.new))
            try await Self.makeDatabaseDurable(scenario)
            let bytes = try await Self.bytesAfterCut(scenario)
            #expect(bytes.starts(with: Self.new), "it was written half a minute before")
            #expect(bytes.dropFirst(Self.new.count).allSatisfy { $0 == 7 })
            #expect(bytes.count == Self.old.count)
        }
    }
}

/// Goal: distrusted content can still be inspected after a power cut, even if the process dies
/// during recovery.
@Suite("A power cut before a changed file was put on the disk")
struct PowerCutLossTests {
    /// Method: the process dies before each of its first steps in turn.
    @Test func `its remaining bytes go to lost+found`() throws {
        var kept = 0
        for (seed, step) in (1...5).flatMap({ seed in (1...20).map { (seed, $0) } }) {
            kept += try Self.keptBytes(seed: UInt64(seed), dyingBeforeStep: step) ? 1 : 0
        }
        #expect(kept > 0, "the cut left bytes of no file")
    }

    private static func keptBytes(seed: UInt64, dyingBeforeStep step: Int) throws -> Bool {
        let hadBytes = Mutex(false)
        try Scenario.run(seed: seed) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("new", [UInt8](repeating: 7, count: 20_000))
            // Long enough for it to be synced, but not its change.
            try await it.wait(.seconds(10))
            try await it.write("new", [UInt8](repeating: 9, count: 20_000))
            await it.mount.cutPower()
            let left = try sizes(below: StateFiles.contentFolder, it)
            try await it.mount.startAgain(dyingBeforeStep: step)
            let kept = try sizes(below: StateFiles.lostFolder, it)
            #expect(kept == left, "seed \(seed), step \(step)")
            hadBytes.withLock { $0 = !left.isEmpty }
        }
        return hadBytes.withLock(\.self)
    }

    /// Of the files that have bytes.
    private static func sizes(below folder: DiskPath, _ it: Scenario) throws -> [UInt64] {
        try it.mount.disk.files(below: folder)
            .map { try it.mount.disk.open($0).status().size }.filter { $0 > 0 }
    }
}

/// Goal: bytes that were cut off do not reappear with the next write.
///
/// Method: a power cut undoes the truncation of a file on the disk, but not in the database; a
/// second one happens just before a write.
@Suite("A power cut after a file was emptied")
struct PowerCutEmptyTests {
    private static let old = [UInt8](repeating: 7, count: 8_192)

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `it is empty or has the remote's content`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), Self.old)
        } _: { it in
            // Half of it is there, and nothing is on the disk for sure.
            let inode = try await it.find("file")
            try await it.open(inode)
            try await it.write([1], at: 0, of: inode)
            try await Self.cutPower(it)
            try await it.write("file", [])
            try await Self.cutPower(it)
            // Long enough for the content to be put on the disk as it is.
            try await it.wait(.seconds(6))
            try await it.open(try await it.find("file"))
            try await Self.cutPower(it)
            let bytes = try await it.read("file")
            #expect(bytes.isEmpty || bytes == Self.old)
        }
    }

    /// Cuts the power when all that the database says is on the disk.
    private static func cutPower(_ it: Scenario) async throws {
        try await it.write("other", [1])
        let other = try await it.find("other")
        try await it.open(other)
        try it.engine.synchronize(other)
        await it.mount.cutPower()
        try it.mount.start()
    }
}

/// Goal: a failed synchronisation of the database is not taken for a success by the next one.
///
/// Method: Linux reports bytes that it could not write once, and counts them as written then.
@Suite("A power cut after a failed synchronisation") struct FailedSynchronisationTests {
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `loses nothing that a later synchronisation covers`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.wait(.seconds(10))
            try await it.makeDirectory("a")
            it.mount.setDiskFaults(DiskFaultPlan(.fails, after: 0, count: 1))
            #expect(throws: Blocked.self) { try it.engine.synchronize(.root) }
            it.mount.setDiskFaults(DiskFaultPlan())
            try await it.makeDirectory("b")
            try it.engine.synchronize(.root)
            try await it.makeDirectory("c")
            await it.mount.cutPower()
            try it.mount.start()
            let names = try await it.names(in: "")
            #expect(names == ["a", "b"] || names == ["a", "b", "c"], "\(names)")
        }
    }
}

@Suite("A power cut after a kill")
struct PowerCutAfterKillTests {
    /// Goal: a synchronised name stays, if its file has nothing to lose.
    ///
    /// Method: the file is open for writing at the kill, and again when the power is cut; nothing was
    /// written to it.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `an empty file that is open for writing keeps its name`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            let (engine, name) = (it.engine, try #require(FileName("file")))
            _ = try await engine.retrying { () throws(Blocked) in
                try engine.createFile(
                    name, in: .root, mode: 0o600, caller: Caller(userID: 0, groupID: 0))
            }
            await it.mount.kill()
            try it.mount.start()
            try await it.open(try await it.find("file"))
            try it.engine.synchronize(.root)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file") == [])
        }
    }
}
