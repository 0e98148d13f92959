import Simulation
import Testing

@testable import Engine

/// Goal: a name on the remote holds, after a power cut, the old or the new content, also if it was given
/// to a file whose last change was not on the disk yet.
///
/// Method: both files are on the remote. `former` is changed and renamed over `file`, of which nothing is
/// here. The cut comes at another moment with each seed, and the disk forgets other bytes.
@Suite("A power cut after a changed file was renamed over one of the remote")
struct UnsafeMoveTests {
    private static let old = [UInt8](repeating: 1, count: 5_000)
    private static let former = [UInt8](repeating: 2, count: 6_000)
    private static let new = [UInt8](repeating: 3, count: 7_000)

    /// - Parameter body: Runs with `former` open for writing, after it was changed and renamed.
    private static func run(
        seed: UInt64, _ body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), old)
            try remote.otherClientWrites(Scenario.key("former"), former)
        } _: { it in
            let inode = try await it.find("former")
            try await it.open(inode)
            try await it.write(new, at: 0, of: inode)
            try await it.rename("former", to: "file")
            try await body(it, inode)
        }
    }

    /// Checks that `file` has its old or its new content after a power cut, here and on the remote.
    private static func checkCut(_ it: Scenario) async throws {
        await it.mount.cutPower()
        try it.mount.start()
        #expect(try await it.rest())
        try await it.refresh()
        let bytes = try await it.read("file")
        #expect(bytes == old || bytes == new, "\(bytes.count) bytes of \(Set(bytes))")
        let isThere = it.remoteBytes("file") == bytes
        #expect(isThere)
        let left = it.remotePaths.filter { $0.hasPrefix("apus-moving-") }
        #expect(left.isEmpty)
        if bytes == old {
            // Under a conflict name, if it had come to the remote under the new one.
            let isFormerThere = it.remotePaths.contains { it.remoteBytes($0) == former }
            #expect(isFormerThere)
        }
    }

    @Test(arguments: 1...80 as ClosedRange<UInt64>)
    func `it has the old or the new content`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, inode in
            it.engine.release(inode, access: .write)
            try await it.wait(.milliseconds(Int64(seed) * 100))
            try await Self.checkCut(it)
        }
    }

    /// Goal: the rename does not wait for the program to close the file, and leaves no temporary name.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `it may be open for writing`(seed: UInt64) throws {
        try Self.run(seed: seed) { it, inode in
            try await it.wait(.milliseconds(Int64(seed) * 3_000))
            if seed > 15 {
                #expect(it.remotePaths == ["file"])
                let isNew = it.remoteBytes("file") == Self.new
                #expect(isNew)
            }
            try await Self.checkCut(it)
        }
    }

    @Test func `it gets to the remote within seconds`() throws {
        try Self.run(seed: 1) { it, inode in
            it.engine.release(inode, access: .write)
            let isDone = try await it.rest(within: .seconds(15))
            #expect(isDone)
            #expect(it.remotePaths == ["file"])
            let isNew = it.remoteBytes("file") == Self.new
            #expect(isNew)
        }
    }
}
