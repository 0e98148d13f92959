import Simulation
import Testing

@testable import Engine

/// Goal: bytes that the local disk failed to store never count as safe.
///
/// Method: a sync fails once. As on Linux, the next one of a file opened later succeeds, although the
/// disk lacks the bytes.
@Suite("A disk that fails to store a file")
struct UnstoredTests {
    private static let half = 4_096
    private static let old = [UInt8](repeating: 1, count: 2 * half)
    private static let new = [UInt8](repeating: 2, count: half)

    private static func run(
        seed: UInt64 = 1, settings: SimulatedMountSettings = SimulatedMountSettings(),
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run(seed: seed, settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await body(it)
        }
    }

    private static func overwrite(_ path: String, at offset: Int, _ it: Scenario) async throws {
        let inode = try await it.find(path)
        try await it.open(inode)
        defer { it.engine.release(inode, access: .write) }
        try await it.write(new, at: UInt64(offset), of: inode)
    }

    /// Lets a sync of the flusher's next pass fail.
    private static func failSync(_ it: Scenario) async throws {
        it.mount.disk.setFaults(DiskFaultPlan(.failsToSynchronize, after: 0, count: 1))
        try await it.wait(.seconds(7))
        it.mount.disk.setFaults(DiskFaultPlan())
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `it holds no mixture after a power cut`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("file", Self.old)
            try await it.wait(.seconds(12))
            try await Self.overwrite("file", at: 0, it)
            try await Self.failSync(it)
            try await Self.overwrite("file", at: Self.half, it)
            try await it.wait(.seconds(12))
            await it.mount.cutPower()
            try it.mount.start()
            guard try await it.names(in: "") == ["file"] else { return }
            let bytes = try await it.read("file")
            #expect(bytes == Self.new + Self.new)
        }
    }

    /// Method: a file that no program synchronised is renamed over one that was.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `it gives its name back to the file that it replaced`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("file", Self.old)
            try await it.wait(.seconds(12))
            try await it.write("draft", Self.new)
            try await it.rename("draft", to: "file")
            try await Self.failSync(it)
            // The flusher would remove the replaced file now.
            try await it.wait(.seconds(30))
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.names(in: "") == ["file"])
            #expect(try await it.read("file") == Self.old)
        }
    }

    /// Goal: the deletion of the file that it replaced does not wait for ever.
    ///
    /// Method: a program keeps the bad file open.
    ///
    /// - Parameter body: Runs with `bad` changed, not stored, and open.
    private static func holdOpen(_ body: @escaping @Sendable (Scenario) async throws -> Void) throws
    {
        try Scenario.run { remote in
            for path in ["bad", "file"] { try remote.otherClientWrites(Scenario.key(path), old) }
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("bad", new)
            try await failSync(it)
            #expect(try it.status().unstoredCount == 1)
            let inode = try await it.find("bad")
            try it.engine.open(inode, access: .read, truncating: false)
            defer { it.engine.release(inode, access: .read) }
            try await body(it)
        }
    }

    /// Goal: the new file waits for a directory to leave its name, which waits for the name of the
    /// replaced file, whose deletion waits for the new file.
    @Test func `it does not wait in a circle with the file that it replaced`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("b"))
            try remote.otherClientWrites(Scenario.key("c"), Self.old)
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.rename("c", to: "aside")
            try await it.rename("b", to: "c")
            try await it.rename("aside", to: "b")
            try await it.write("draft", Self.new)
            try await it.rename("draft", to: "b")
            try await Self.failSync(it)
            #expect(try it.status().unstoredCount == 1)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("b") == Self.new)
            #expect(Set(it.remotePaths) == ["b", "c"])
        }
    }

    @Test func `it does not hold back a deletion once it is removed`() throws {
        try Self.holdOpen { it in
            try await it.rename("bad", to: "file")
            try await it.unlink("file")
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths.isEmpty)
        }
    }

    @Test func `it does not hold back a deletion once the remote has it`() throws {
        try Self.holdOpen { it in
            try await it.rename("file", to: "other")
            try await it.rename("bad", to: "other")
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["other"])
            #expect(it.remoteBytes("other") == Self.new)
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `it does not hold up other files`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("a", Self.old)
            try await it.write("b", Self.old)
            try await Self.failSync(it)
            let status = try it.status()
            #expect(status.unstoredCount == 1)
            let failures = status.items.filter { $0.failure?.why.contains("store") == true }
            #expect(failures.map(\.path) == ["a"])
            #expect(failures.allSatisfy { $0.failure?.remedy != nil })
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("b") == Self.old)
        }
    }

    /// Method: more files than are synchronised one by one, so that the failure names none of them.
    @Test func `it is found among many`() throws {
        try Self.run { it in
            for index in 0..<300 { try await it.write("file\(index)", [1, 2, 3]) }
            try await Self.failSync(it)
            #expect(try it.status().unstoredCount == 300, "the disk took none of them")
            try await it.write("other", Self.old)
            try await it.wait(.seconds(12))
            #expect(try it.status().unstoredCount == 300)
        }
    }

    @Test func `a program's fsync fails until the file is written anew`() throws {
        try Self.run { it in
            try await it.write("file", Self.old)
            let inode = try await it.find("file")
            try await it.open(inode)
            it.mount.disk.setFaults(DiskFaultPlan(.failsToSynchronize, after: 0, count: 1))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.engine.release(inode, access: .write)
            // As a program does that is told of the failure.
            try await it.wait(.seconds(12))
            try await it.open(inode)
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.engine.release(inode, access: .write)
            try await it.write("file", Self.new)
            try await it.open(inode)
            try it.engine.synchronize(inode)
            it.engine.release(inode, access: .write)
            #expect(try it.status().unstoredCount == 0)
        }
    }

    /// Goal: the upload ends the failure also for a program that keeps the file open.
    @Test func `it is safe once the remote has it`() throws {
        try Self.run { it in
            try await it.write("file", Self.old)
            try await Self.failSync(it)
            let inode = try await it.find("file")
            try it.engine.open(inode, access: .read, truncating: false)
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == Self.old)
            #expect(try it.status().unstoredCount == 0)
            try it.engine.synchronize(inode)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file") == Self.old)
        }
    }

    /// Goal: the failure is not forgotten if the database cannot be written either.
    @Test func `it is known until the database can record it`() throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Self.run(settings: settings) { it in
            try await it.write("file", Self.old)
            let inode = try await it.find("file")
            try await it.open(inode)
            // The sync, and the record of its failure.
            it.mount.setDiskFaults(DiskFaultPlan(.fails, after: 0, count: 1))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.engine.release(inode, access: .write)
            try await it.open(inode)
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.engine.release(inode, access: .write)
            try await it.wait(.seconds(12))
            #expect(try it.status().unstoredCount == 1)
        }
    }

    /// Goal: bytes that were cut off do not come back.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `it may be an emptied one`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("file", Self.old)
            try await it.wait(.seconds(12))
            try await it.write("file", [])
            try await Self.failSync(it)
            let inode = try await it.find("file")
            try it.engine.open(inode, access: .read, truncating: false)
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.engine.release(inode, access: .read)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.wait(.seconds(12))
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).isEmpty)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file").isEmpty)
        }
    }

    @Test func `it is fetched again once the remote has it`() throws {
        try Self.run { it in
            try await it.write("file", Self.old)
            try await Self.failSync(it)
            #expect(try it.status().unstoredCount == 1)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.wait(.seconds(12))
            #expect(try it.status().unstoredCount == 0)
            #expect(try it.engine.item(try await it.find("file")).state == .remote)
            #expect(try await it.read("file") == Self.old)
        }
    }

    /// Goal: a restart of the daemon does not forget the failure, one of the machine does.
    @Test func `a new process knows it`() throws {
        try Self.run { it in
            try await it.write("file", Self.old)
            try await Self.failSync(it)
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(12))
            #expect(try it.status().unstoredCount == 1)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try it.status().unstoredCount == 0)
        }
    }

    /// Goal: changes after a failure are not taken for the remote's bytes after a power cut.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `its later changes are sent, or lost as a whole`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            try await it.write("file", Self.old)
            #expect(try await it.rest())
            try await it.wait(.seconds(12))
            it.remote.setReachable(false)
            let inode = try await it.find("file")
            try await it.open(inode)
            it.mount.disk.setFaults(DiskFaultPlan(.failsToSynchronize, after: 0, count: 1))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            it.mount.disk.setFaults(DiskFaultPlan())
            try await it.write(Self.new, at: UInt64(2 * Self.half), of: inode)
            await it.mount.cutPower()
            it.remote.setReachable(true)
            try it.mount.start()
            #expect(try await it.rest())
            #expect(try await it.read("file") == it.remoteBytes("file"))
        }
    }
}

/// Goal: bytes are safe although the disk has failed to store them and the process was killed before it
/// could record that.
///
/// Method: the failure is reported once; neither the state nor a later synchronisation tells of it.
@Suite("A disk that fails to store a file before a kill")
struct UnstoredKillTests {
    private static let old = [UInt8](repeating: 1, count: 8_192)
    private static let new = [UInt8](repeating: 2, count: 4_096)

    /// - Parameter body: Runs in the next process.
    private static func run(
        seed: UInt64, prepare: @escaping @Sendable (Scenario) async throws -> Void = { _ in },
        _ body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            try await prepare(it)
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            if try await it.names(in: "").isEmpty { try await it.write("file", old) }
            let inode = try await it.find("file")
            try await it.open(inode)
            try await it.write(new, at: 4_096, of: inode)
            // The synchronisation, and the record of its failure.
            it.mount.setDiskFaults(DiskFaultPlan(.fails, after: 0, count: 2))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            await it.mount.kill()
            it.mount.setDiskFaults(DiskFaultPlan())
            try it.mount.start()
            #expect(try it.status().unstoredCount == 0, "the failure is recorded")
            try await body(it, inode)
        }
    }

    private static func cutPower(_ it: Scenario) async throws {
        await it.mount.cutPower()
        try it.mount.start()
        #expect(try await it.read("file") == Array(old.prefix(4_096)) + new)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `is written again by the next process`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, _ in
            try await it.wait(.seconds(12))
            try await Self.cutPower(it)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `is written again by a program's fsync`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, inode in
            try await it.open(inode)
            try it.engine.synchronize(inode)
            it.engine.release(inode, access: .write)
            try await Self.cutPower(it)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `is written again by the end of the next process`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, _ in
            await it.mount.stop()
            try await Self.cutPower(it)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `is written again after a second kill`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, _ in
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(12))
            try await Self.cutPower(it)
        }
    }

    /// Method: two parts of a large file are written, but only the first one is synchronised.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `may be only partly here`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        let base = [UInt8](repeating: 7, count: 2 << 20)
        try Scenario.run(seed: seed, settings: settings) {
            try $0.otherClientWrites(Scenario.key("file"), base)
        } _: { it in
            let inode = try await it.find("file")
            try await it.open(inode)
            try await it.write(Self.new, at: 4_096, of: inode)
            try it.engine.synchronize(inode)
            it.remote.setReachable(false)
            try await it.write(Self.new, at: 1 << 20, of: inode)
            it.mount.setDiskFaults(DiskFaultPlan(.fails, after: 0, count: 2))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            await it.mount.kill()
            it.mount.setDiskFaults(DiskFaultPlan())
            try it.mount.start()
            try await it.open(inode)
            // What the database records of a synchronised file is kept.
            try await it.write(Self.new, at: 1 << 20 + 8_192, of: inode)
            await it.mount.cutPower()
            it.remote.setReachable(true)
            try it.mount.start()
            #expect(try await it.rest())
            let bytes = try #require(it.remoteBytes("file"))
            #expect(bytes.count == base.count)
            #expect(bytes[4_096..<8_192].elementsEqual(Self.new))
            #expect(bytes[(1 << 20)..<1 << 20 + 4_096].elementsEqual(Self.new))
        }
    }

    @Test func `makes a program's fsync fail if it cannot be written again`() throws {
        try Self.run(seed: 1) { it, inode in
            try await it.open(inode)
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 0, count: 1))
            #expect(throws: Blocked.self) { try it.engine.synchronize(inode) }
            try it.engine.synchronize(inode)
            it.engine.release(inode, access: .write)
            try await Self.cutPower(it)
        }
    }

    /// Method: three operations of others precede the status, the read, the write and the time.
    @Test(arguments: 3...6)
    func `counts as not stored if it cannot be written again`(operation: Int) throws {
        try Self.run(seed: 1) { it, inode in
            try it.engine.open(inode, access: .read, truncating: false)
            defer { it.engine.release(inode, access: .read) }
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: operation, count: 1))
            try await it.wait(.seconds(12))
            #expect(try it.status().unstoredCount == 1)
        }
    }

    /// Goal: changes of a file that had no bytes here at the kill are synchronised as any others.
    @Test(arguments: 1...40)
    func `does not keep later changes from being synchronised`(step: Int) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        let base = [UInt8](repeating: 7, count: 2 << 20)
        try Scenario.run(settings: settings) {
            try $0.otherClientWrites(Scenario.key("file"), base)
        } _: { it in
            let inode = try await it.find("file")
            try await it.open(inode)
            it.mount.life.dieBeforeStep(step)
            // It may die before that.
            try? await it.write(Self.new, at: 4_096, of: inode)
            await it.mount.kill()
            it.remote.setReachable(false)
            try it.mount.start()
            try await it.wait(.seconds(1))
            try await it.open(inode)
            try await it.write(Self.new, at: 65_536, of: inode)
            it.engine.release(inode, access: .write)
            try await it.wait(.seconds(12))
            await it.mount.cutPower()
            it.remote.setReachable(true)
            try it.mount.start()
            #expect(try await it.rest())
            let bytes = try #require(it.remoteBytes("file"))
            #expect(bytes[65_536..<65_536 + 4_096].elementsEqual(Self.new))
        }
    }

    /// Goal: the image of a disk, which was open for writing, is not written again for minutes.
    ///
    /// Method: zeros that are written again take space.
    @Test(arguments: [1, UInt64(1) << 40])
    func `is only synchronised above 256 MiB`(excess: UInt64) throws {
        try Self.run(seed: 1) { it in
            try await it.write("file", Self.old)
            let inode = try await it.find("file")
            try await it.open(inode)
            try await it.write([1], at: SuspectContent.fileBytesMax + excess - 1, of: inode)
        } _: { it, inode in
            #expect(try it.engine.store.read { try $0.isSuspect(inode) })
            try await it.wait(.seconds(12))
            #expect(try it.engine.store.read { try !$0.isSuspect(inode) })
            #expect(SuspectContent.fileBytesMax == 256 << 20)
            #expect(it.mount.disk.usedBytes < 1 << 20)
        }
    }
}
