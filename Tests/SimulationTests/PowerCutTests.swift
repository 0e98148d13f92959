import Simulation
import Testing

@testable import Engine

/// What a power cut leaves of a file of which only a part is here.
@Suite("A power cut, with a part of a file here")
struct PowerCutTests {
    private static let old = [UInt8](repeating: 7, count: 200_000)
    private static let new = [UInt8](repeating: 9, count: 4_096)

    /// - Parameter body: Is told with the first bytes of `file` written and synchronised, and the
    ///   rest of it on a remote that has gone out of reach.
    private static func run(
        seed: UInt64, _ body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
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
            try scenario.engine.synchronize(inode)
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

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no hole passes for bytes that were there`(seed: UInt64) throws {
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
    func `a longer end does not take along what was synchronised`(seed: UInt64) throws {
        try Self.run(seed: seed) { scenario, inode in
            try await scenario.write(Self.new, at: UInt64(Self.old.count), of: inode)
            try await Self.makeDatabaseDurable(scenario)
            let bytes = try await Self.bytesAfterCut(scenario)
            #expect(bytes.starts(with: Self.new), "it was synchronised")
            #expect(bytes[Self.new.count..<Self.old.count].allSatisfy { $0 == 7 })
        }
    }
}
