import Simulation
import Testing

@testable import Engine

/// Goal: a request that was repeated, as its answer was lost, and is refused then, does not make its own result
/// pass for another client's version.
@Suite("Requests that are repeated")
struct RepeatedRequestTests {
    private static func run(
        seed: UInt64, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings.drawn(from: seed)
        settings.engine.cacheBytesMax = 20 << 30
        settings.engine.keepFreeBytes = 0
        try Scenario.run(settings: settings) { it in
            try await it.write("old", [1, 2, 3])
            try await it.makeDirectory("d")
            #expect(try await it.rest())
            it.remote.setFaults(SimulatedProviderFaults(.repeated, 1))
            try await body(it)
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(try it.status().conflicts.isEmpty)
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `an upload, of a file that goes on changing`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            for name in ["old", "new"] {
                if name == "new" { try await it.write(name, [4]) }
                let inode = try await it.find(name)
                try await it.open(inode)
                try await it.write([5], at: 0, of: inode)
                try it.engine.hasten(below: [.root])
                try await it.wait(.seconds(20))
                try await it.write([6], at: 1, of: inode)
                it.engine.release(inode, access: .write)
            }
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(it.remotePaths == ["d", "new", "old"])
            #expect(it.remoteBytes("old") == [5, 6, 3] && it.remoteBytes("new") == [5, 6])
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `a rename, and other attributes`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.rename("old", to: "d/moved")
            try await it.wait(.seconds(20))
            let inode = try await it.find("d/moved")
            var change = AttributeChange()
            change.mode = 0o600
            _ = try it.engine.setAttributes(of: inode, to: change)
            try await it.wait(.seconds(20))
            try await it.write("d/moved", [7])
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(it.remotePaths == ["d", "d/moved"])
            #expect(it.remoteBytes("d/moved") == [7])
        }
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `the rename of a directory and of a symbolic link`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            it.remote.setFaults(SimulatedProviderFaults())
            try await it.write("d/f", [1, 2])
            try await it.makeSymlink("link")
            #expect(try await it.rest())
            let (directory, file) = (try await it.find("d"), try await it.find("d/f"))
            let link = try await it.find("link")
            it.remote.setFaults(SimulatedProviderFaults(.repeated, 1))
            try await it.rename("d", to: "e")
            try await it.rename("link", to: "e/link")
            try await it.wait(.seconds(20))
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(it.remotePaths == ["e", "e/f", "e/link", "old"])
            #expect(try await it.find("e") == directory)
            #expect(try await it.find("e/f") == file)
            #expect(try await it.find("e/link") == link)
        }
    }
}
