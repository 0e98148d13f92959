import Simulation
import Testing

@testable import Engine

@Suite("The local bytes of a removed file") struct RemovedContentTests {
    private static let bytes = [UInt8](repeating: 7, count: 10_000)

    private static func contents(_ it: Scenario) throws -> [DiskPath] {
        try it.mount.disk.files(below: StateFiles.contentFolder)
    }

    /// Goal: what a reader stores when it closes the file during the removal goes too, before the remote has
    /// heard of the removal.
    ///
    /// Method: the steps of both, in an order in which two threads may run them.
    @Test func `go if a reader stores them after the removal of the name`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("f"), Self.bytes)
        } _: { it in
            let inode = try await it.find("f")
            let content = it.engine.local.content
            let file = try content.retain(inode)
            try file.withState { state throws(Blocked) in
                try onDisk("write", do: state.file.write(Self.bytes, at: 0))
                state.present.insert(0..<UInt64(Self.bytes.count))
            }
            it.remote.setReachable(false)
            let name = try #require(Scenario.key("f").names.last)
            let removal = try it.engine.local.tree.remove(name, in: .root, isDirectory: false)
            #expect(removal.isOnRemote && !removal.hasContent)
            content.releaseUse(of: inode)
            #expect(try Self.contents(it).count == 1)
            it.engine.local.reaper.reap(inode, wasOnlyRemote: true)
            try await it.wait(.seconds(10))
            #expect(try Self.contents(it).isEmpty)
            #expect(try it.status().localBytes == 0)
            it.remote.setReachable(true)
            #expect(try await it.rest())
        }
    }

    /// Goal: those of a file that is open then go with its last user.
    @Test func `stay readable while it is open, and go with its last user`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("f"), Self.bytes)
        } _: { it in
            let inode = try await it.find("f")
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            _ = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.read(inode, at: 0, length: Self.bytes.count)
            }
            it.remote.setReachable(false)
            try await it.unlink("f")
            try await it.wait(.seconds(10))
            let range = try it.engine.read(inode, at: 0, length: Self.bytes.count)
            #expect(range.count == Self.bytes.count)
            it.engine.release(inode, access: .read)
            try await it.wait(.seconds(10))
            #expect(try Self.contents(it).isEmpty)
            #expect(try it.status().localBytes == 0)
            it.remote.setReachable(true)
            #expect(try await it.rest())
        }
    }
}
