import Simulation
import Testing

@testable import Engine

/// Goal: bytes written to a file that is only partly here are neither lost nor mixed with another
/// version if the remote replaces the file before the rest has come (I2, I5).
@Suite("A file written to before it was whole")
struct LostBaseTests {
    private static let base = [UInt8](repeating: 1, count: 3 << 20)
    private static let theirs = [UInt8](repeating: 2, count: 1_000)
    private static let tail: [UInt8] = [7, 8, 9]

    /// Runs with a file on the remote that was appended to here, before another client replaced it.
    private static func run(
        _ body: @escaping @Sendable (_ it: Scenario, _ conflict: String) async throws -> Void
    ) throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), base)
        } _: { it in
            let inode = try await it.find("a")
            try await it.open(inode)
            // Its first MiB, as the open waits for a part of that only.
            _ = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.read(inode, at: 0, length: 1 << 20)
            }
            it.remote.refuse(.busy, attempts: "read ")
            try await it.write(tail, at: UInt64(base.count), of: inode)
            it.engine.release(inode, access: .write)
            try it.remote.otherClientWrites(Scenario.key("a"), theirs)
            it.remote.refuse(nil)
            try await it.wait(.seconds(100))
            let names = try await it.names(in: "")
            let conflict = try #require(names.first { $0.contains("conflict") }, "\(names)")
            try await body(it, conflict)
        }
    }

    @Test func `keeps its bytes as a conflict version, which the status explains`() throws {
        try Self.run { it, conflict in
            let isTheirs = try await it.read("a") == Self.theirs
            #expect(isTheirs)
            #expect(it.remotePaths == ["a"])
            let item = try #require(try it.status().items.first { $0.failure != nil })
            #expect(item.path.description == conflict)
            let remedy = try #require(item.failure?.remedy)
            #expect(remedy.contains("that are here (0-"), "\(remedy)")
            #expect(remedy.contains(", 3145728-3145730 of 3145731"), "\(remedy)")
            let inode = try await it.find(conflict)
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            defer { it.engine.release(inode, access: .read) }
            #expect(it.engine.hasLostBytes(inode), "the kernel must not ask for whole pages")
            let range = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.read(inode, at: UInt64(Self.base.count), length: 100)
            }
            #expect(range.count == Self.tail.count)
            await #expect(throws: EngineError.self) {
                try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.read(inode, at: UInt64(Self.base.count) - 100, length: 100)
                }
            }
        }
    }

    @Test func `does not take the place of the remote version`() throws {
        try Self.run { it, conflict in
            let inode = try await it.find(conflict)
            await #expect(throws: EngineError.self) {
                try await it.engine.settleConflict(inode, keeping: .mine)
            }
            #expect(try await it.names(in: "").sorted() == ["a", conflict].sorted())
            #expect(try await it.read("a") == Self.theirs)
            _ = try await it.engine.settleConflict(inode, keeping: .theirs)
            #expect(try await it.names(in: "") == ["a"])
        }
    }

    @Test func `is sent once its missing bytes are written`() throws {
        try Self.run { it, conflict in
            let inode = try await it.find(conflict)
            // As the kernel does, whose first opening for writing is refused.
            await #expect(throws: EngineError.self) { try await it.open(inode) }
            try await it.open(inode)
            try await it.write(Array(Self.base[(1 << 20)...]), at: 1 << 20, of: inode)
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            let isWhole = it.remoteBytes(conflict) == Self.base + Self.tail
            #expect(isWhole)
            #expect(try it.status().items.allSatisfy { $0.failure == nil })
        }
    }

    /// Method: a cache so small that the first request fetches a part only.
    @Test func `is fetched whole before, if it is small`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 1 << 20
        let base = [UInt8](repeating: 1, count: 200 << 10)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), base)
        } _: { it in
            let inode = try await it.find("a")
            try await it.open(inode)
            it.remote.refuse(.busy, attempts: "read ")
            try await it.write(Self.tail, at: UInt64(base.count), of: inode)
            it.engine.release(inode, access: .write)
            try it.remote.otherClientWrites(Scenario.key("a"), Self.theirs)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            let conflict = try #require(it.remotePaths.first { $0.contains("conflict") })
            let isWhole = it.remoteBytes(conflict) == base + Self.tail
            #expect(isWhole)
            #expect(it.remoteBytes("a") == Self.theirs)
        }
    }

    /// Goal: a truncation of a file that is closed and not here keeps what it leaves of it.
    @Test(arguments: [100 << 10, 300 << 10])
    func `is fetched whole before a truncation, if it is small`(size: Int) throws {
        let base = [UInt8](repeating: 1, count: 200 << 10)
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), base)
        } _: { it in
            let inode = try await it.find("a")
            var change = AttributeChange()
            change.size = UInt64(size)
            _ = try await it.engine.retrying { [change] () throws(Blocked) in
                try it.engine.setAttributes(of: inode, to: change)
            }
            try it.remote.otherClientWrites(Scenario.key("a"), Self.theirs)
            #expect(try await it.rest())
            let conflict = try #require(it.remotePaths.first { $0.contains("conflict") })
            let zeros = [UInt8](repeating: 0, count: max(0, size - base.count))
            let isWhole = it.remoteBytes(conflict) == base.prefix(size) + zeros
            #expect(isWhole)
            #expect(it.remoteBytes("a") == Self.theirs)
        }
    }

    @Test func `is not fetched before it is truncated to nothing`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), Self.base)
        } _: { it in
            let inode = try await it.find("a")
            it.remote.refuse(.busy, attempts: "read ")
            var change = AttributeChange()
            change.size = 0
            _ = try it.engine.setAttributes(of: inode, to: change)
            #expect(try await it.rest())
            #expect(it.remoteBytes("a") == [])
            #expect(it.remote.refusalsGiven == 0)
        }
    }
}
