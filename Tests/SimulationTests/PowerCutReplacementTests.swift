import Simulation
import Testing

@testable import Engine

/// Goal: a name that is on the disk holds, after a power cut, the old or the new content, as other
/// file systems promise for a rename.
///
/// Method: the remote cannot be reached, and the database may lose any unsynced commit while the
/// disk keeps the removal of a content file.
@Suite("A power cut after a file was replaced or removed")
struct PowerCutReplacementTests {
    private static let old = [UInt8](repeating: 1, count: 5_000)
    private static let new = [UInt8](repeating: 2, count: 6_000)

    private static func run(
        seed: UInt64, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("file", old)
            try await synchronize("file", it)
            try await body(it)
        }
    }

    private static func synchronize(_ path: String, _ it: Scenario) async throws {
        let inode = try await it.find(path)
        try await it.open(inode)
        defer { it.engine.release(inode, access: .write) }
        try it.engine.synchronize(inode)
    }

    /// Makes the database durable, but not the content of other files.
    private static func synchronizeDatabase(_ it: Scenario) async throws {
        try await it.write("other", [1])
        try await synchronize("other", it)
    }

    private static func restart(_ it: Scenario) async throws {
        await it.mount.cutPower()
        try it.mount.start()
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a synchronised draft or the file that it replaced has the name`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("draft", Self.new)
            try await Self.synchronize("draft", it)
            try await it.rename("draft", to: "file")
            try await Self.restart(it)
            let bytes = try await it.read("file")
            #expect(bytes == Self.old || bytes == Self.new)
            #expect(try await it.names(in: "").contains("draft") == (bytes == Self.old))
        }
    }

    /// Method: the rename is on the disk, and the draft's bytes are not.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a file gets its name back from a draft that is lost`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("draft", Self.new)
            try await it.rename("draft", to: "file")
            try await Self.synchronizeDatabase(it)
            try await Self.restart(it)
            #expect(try await it.names(in: "") == ["file", "other"])
            #expect(try await it.read("file") == Self.old)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == Self.old)
        }
    }

    /// A change of a file that leaves its bytes as they are.
    private enum Harmless: CaseIterable {
        case none
        case mode
        case name
    }

    /// Method: the file that takes the name is open for writing, and has no change to lose.
    @Test(arguments: 1...20 as ClosedRange<UInt64>, Harmless.allCases)
    private func `an unchanged file keeps the name that it was moved to`(
        seed: UInt64, before: Harmless
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("former"), Self.new)
            try remote.otherClientWrites(Scenario.key("file"), Self.old)
        } _: { it in
            let inode = try await it.find("former")
            try await it.open(inode)
            it.remote.setReachable(false)
            switch before {
            case .none: try await it.rename("former", to: "file")
            case .mode:
                var change = AttributeChange()
                change.mode = 0o600
                _ = try it.engine.setAttributes(of: inode, to: change)
                try await it.rename("former", to: "file")
            case .name:
                try await it.rename("former", to: "between")
                try await it.rename("between", to: "file")
            }
            try await Self.synchronizeDatabase(it)
            try await Self.restart(it)
            it.remote.setReachable(true)
            #expect(try await it.names(in: "") == ["file", "other"])
            #expect(try await it.read("file") == Self.new)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["file", "other"])
            #expect(it.remoteBytes("file") == Self.new)
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `only the last of several drafts may be lost`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            for byte in 3...5 as ClosedRange<UInt8> {
                try await it.write("draft", [UInt8](repeating: byte, count: 4_000))
                try await it.rename("draft", to: "file")
                if byte == 4 { try await Self.synchronize("file", it) }
                // Meanwhile content is put on the disk and removed.
                try await it.wait(.milliseconds(1_700))
            }
            try await Self.restart(it)
            let bytes = try await it.read("file")
            #expect(bytes.count == 4_000)
            #expect(Set(bytes) == [4] || Set(bytes) == [5])
        }
    }

    /// Method: the file has moved here, which the remote does not know yet.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a file of the remote gets its new name back`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("former"), Self.old)
        } _: { it in
            #expect(try await it.read("former") == Self.old)
            it.remote.setReachable(false)
            try await it.rename("former", to: "file")
            try await it.write("draft", Self.new)
            try await it.rename("draft", to: "file")
            try await Self.synchronizeDatabase(it)
            try await Self.restart(it)
            it.remote.setReachable(true)
            #expect(try await it.read("file") == Self.old)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["file", "other"])
            #expect(it.remoteBytes("file") == Self.old)
        }
    }

    /// Goal: a file that falls back to the remote's version does not keep the name of a synchronised one.
    ///
    /// Method: the renames are on the disk, and the last bytes of `former` are not.
    ///
    /// - Parameter body: Runs after the rename over `file`, before the power cut.
    private static func replaceByChanged(
        seed: UInt64, _ body: (@Sendable (Scenario) async throws -> Void)? = nil,
        after: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("former"), Self.old)
        } _: { it in
            #expect(try await it.read("former") == Self.old)
            it.remote.setReachable(false)
            try await it.write("file", Self.new)
            try await synchronize("file", it)
            try await it.write("former", [UInt8](repeating: 3, count: 26))
            try await it.rename("former", to: "file")
            try await body?(it)
            try await synchronizeDatabase(it)
            try await restart(it)
            #expect(try await it.read("file") == Self.new)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == Self.new)
            try await after(it)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a file gets its name back from one that returns to its place`(seed: UInt64) throws {
        try Self.replaceByChanged(seed: seed) { it in
            #expect(it.remotePaths == ["file", "former", "other"])
            #expect(it.remoteBytes("former") == Self.old)
        }
    }

    /// Method: the place is taken, by another file that is on the disk.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a file gets its name back from one that has lost its place`(seed: UInt64) throws {
        try Self.replaceByChanged(seed: seed) { it in
            try await it.write("former", [4])
            try await Self.synchronize("former", it)
        } after: { it in
            #expect(it.remoteBytes("former") == [4])
            let others = it.remotePaths.filter { !["file", "former", "other"].contains($0) }
            #expect(others.count == 1)
            #expect(others.allSatisfy { $0.contains("conflict") })
            #expect(others.allSatisfy { it.remoteBytes($0) == Self.old })
        }
    }

    /// Goal: a file that another one of ours is replacing on the remote does not come back, without its bytes,
    /// under the name that a third one had got since and is lost with.
    ///
    /// Method: the power is cut while the remote carries out the move.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a file that is being replaced on the remote does not return`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        settings.provider.latency = .milliseconds(200)...(.milliseconds(200))
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("first"), Self.old)
            try remote.otherClientWrites(Scenario.key("second"), Self.new)
        } _: { it in
            _ = try await it.names(in: "")
            let inode = try await it.find("first")
            try await it.rename("first", to: "second")
            while try it.engine.local.tree.store.read({ try $0.intent(of: inode) }) == nil {
                try await it.wait(.milliseconds(5))
            }
            try await it.rename("second", to: "third")
            try await it.write("second", [UInt8](repeating: 3, count: 4_000))
            try await Self.synchronizeDatabase(it)
            try await Self.restart(it)
            #expect(try await it.rest())
            #expect(try await it.read("third") == Self.old)
            for name in try await it.names(in: "") { _ = try await it.read(name) }
        }
    }

    /// Goal: a file whose bytes were only fetched keeps the name that it was given.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a fetched file keeps the name of the file that it replaced`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("former"), Self.old)
        } _: { it in
            try await it.write("file", Self.new)
            try await Self.synchronize("file", it)
            #expect(try await it.read("former") == Self.old)
            it.remote.setReachable(false)
            try await it.rename("former", to: "file")
            try await Self.synchronizeDatabase(it)
            try await Self.restart(it)
            it.remote.setReachable(true)
            #expect(try await it.read("file") == Self.old)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["file", "other"])
        }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a removed file is there with its content or gone`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.unlink("file")
            try await it.wait(.milliseconds(Int64(seed % 7) * 1_000))
            try await Self.restart(it)
            if try await it.names(in: "") == ["file"] {
                #expect(try await it.read("file") == Self.old)
            }
        }
    }

    /// Goal: a file that was open when it lost its name is no exception.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `a file closed after its removal is there with its content or gone`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            let inode = try await it.find("file")
            try await it.open(inode)
            try await it.unlink("file")
            it.engine.release(inode, access: .write)
            try await Self.restart(it)
            if try await it.names(in: "") == ["file"] {
                #expect(try await it.read("file") == Self.old)
            }
        }
    }

    @Test func `the content of a removed file goes within seconds`() throws {
        try Self.run(seed: 1) { it in
            try await it.write("draft", Self.new)
            try await it.rename("draft", to: "file")
            try await it.unlink("file")
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).count == 2)
            try await it.wait(.seconds(11))
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder).isEmpty)
        }
    }

    /// Goal: `rm` makes room on a full disk at once.
    @Test func `a full disk has room after a removal`() throws {
        var settings = SimulatedMountSettings()
        settings.diskBytes = 4 << 20
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            let bytes = [UInt8](repeating: 1, count: 3 << 20)
            try await it.write("a", bytes)
            await #expect(throws: EngineError.self) { try await it.write("b", bytes) }
            try await it.unlink("b")
            try await it.unlink("a")
            try await it.write("c", bytes)
            #expect(try await it.read("c") == bytes)
        }
    }
}
