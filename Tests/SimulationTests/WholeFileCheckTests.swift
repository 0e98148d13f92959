import Simulation
import Synchronization
import TestBytes
import Testing

@testable import Engine

/// Goal: damage that no single piece shows is found once the file is whole, and not served any more
/// (I5); a store whose checksums are not those of its bytes costs one more read, and nothing else.
@Suite("A file fetched in pieces")
struct WholeFileCheckTests {
    private static let bytes = TestBytes.random(3 << 20)

    private static func settings(_ checksums: SimulatedChecksumKind) -> SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.checksums = checksums
        return settings
    }

    /// Runs with the files on the remote, each beginning with its letter.
    private static func run(
        _ checksums: SimulatedChecksumKind, files: [String] = ["a"],
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run(settings: settings(checksums)) { remote in
            for name in files {
                try remote.otherClientWrites(Scenario.key(name), content(name))
            }
        } _: { it in
            try await body(it)
        }
    }

    private static func content(_ name: String) -> [UInt8] { Array(name.utf8) + bytes }

    /// Whether a program reads what is on the remote.
    private static func isIntact(_ name: String, _ it: Scenario) async throws -> Bool {
        try await it.read(name) == content(name)
    }

    @Test func `is fetched again if its checksum differs`() throws {
        try Self.run(.declared) { it in
            it.remote.damageReads(1)
            #expect(try await !Self.isIntact("a", it), "no request waits for the check")
            #expect(it.remote.readsToDamage == 0)
            try await it.wait(.seconds(10))
            #expect(try await Self.isIntact("a", it))
        }
    }

    /// Goal: damage is found later if this machine could not read the bytes at first.
    @Test func `is checked again after a failure of the local disk`() throws {
        try Self.run(.declared) { it in
            it.remote.damageReads(1)
            #expect(try await !Self.isIntact("a", it))
            it.mount.disk.setFaults(DiskFaultPlan(.fails, after: 0, count: .max))
            try await it.wait(.seconds(10))
            it.mount.disk.setFaults(DiskFaultPlan())
            #expect(try await !Self.isIntact("a", it))
            try await it.wait(.seconds(60))
            #expect(try await Self.isIntact("a", it))
        }
    }

    @Test func `is fetched again if its etag differs, once another one was a checksum`() throws {
        try Self.run(.lookalike, files: ["a", "b"]) { it in
            #expect(try await Self.isIntact("a", it))
            try await it.wait(.seconds(10))
            it.remote.damageReads(1)
            #expect(try await !Self.isIntact("b", it))
            try await it.wait(.seconds(10))
            #expect(try await Self.isIntact("b", it))
        }
    }

    @Test func `is not fetched without end if it arrives damaged each time`() throws {
        try Self.run(.declared) { it in
            it.remote.damageReads(1_000)
            let inode = try await it.find("a")
            let file = try it.engine.local.content.retain(inode)
            _ = try await it.read("a")
            try await it.wait(.seconds(100))
            #expect(it.remote.readsToDamage > 980)
            #expect(file.state.withLock { !$0.isWhole }, "it is not served as good")
            it.remote.damageReads(0)
            try await it.wait(.seconds(100))
            #expect(try await Self.isIntact("a", it))
            it.engine.local.content.releaseUse(of: inode)
        }
    }

    @Test(arguments: [SimulatedChecksumKind.wrong, .unrelated, .mixed])
    func `stays readable if the store's checksum is not that of its bytes`(
        _ checksums: SimulatedChecksumKind
    ) throws {
        // The first letter is even: its etag is a checksum, if the store is `mixed`.
        let files = ["b", "a", "c", "e"]
        try Self.run(checksums, files: files) { it in
            for name in files {
                #expect(try await Self.isIntact(name, it))
                try await it.wait(.seconds(10))
            }
            // From now on the network is gone, so all that can be read is here.
            it.remote.setReachable(false)
            for name in files { #expect(try await Self.isIntact(name, it)) }
            let size = UInt64(Self.content("a").count)
            let extra = it.remote.bytesRead - size * UInt64(files.count)
            switch checksums {
            case .wrong: #expect(extra == size * UInt64(files.count), "each one once")
            case .mixed: #expect(extra == size, "one of them once")
            default: #expect(extra == 0)
            }
        }
    }

    @Test func `that waits for a change to be sent is checked after it`() throws {
        try Self.run(.declared) { it in
            it.remote.damageReads(1)
            let inode = try await it.find("a")
            it.remote.refuse(.busy, attempts: "set the attributes")
            var change = AttributeChange()
            change.mode = 0o600
            _ = try await it.engine.retrying { [change] () throws(Blocked) in
                try it.engine.setAttributes(of: inode, to: change)
            }
            #expect(try await !Self.isIntact("a", it))
            try await it.wait(.seconds(100))
            #expect(it.remote.refusalsGiven > 0)
            it.remote.refuse(nil)
            try await it.wait(.seconds(1_000))
            #expect(try await Self.isIntact("a", it))
        }
    }

    @Test func `with local changes is left alone`() throws {
        try Self.run(.declared) { it in
            let inode = try await it.find("a")
            try await it.open(inode)
            try await it.write([1, 2, 3], at: 0, of: inode)
            _ = try await it.read("a")
            try await it.wait(.seconds(10))
            let changed = [1, 2, 3] + Self.content("a").dropFirst(3)
            let isChangedHere = try await it.read("a") == changed
            #expect(isChangedHere)
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            let isChangedThere = it.remoteBytes("a") == changed
            #expect(isChangedThere)
        }
    }

    @Test func `is not checked if the store keeps no checksums`() throws {
        try Self.run(.none) { it in
            #expect(try await Self.isIntact("a", it))
            try await it.wait(.seconds(10))
            #expect(it.remote.checksumsAsked == 0)
        }
    }
}
