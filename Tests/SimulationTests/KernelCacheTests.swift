import Simulation
import Testing

@testable import Engine

/// The contents of the kernel's caches, and the changes that it is told: nothing in them expires.
@Suite("The kernel's caches")
struct KernelCacheTests {
    private static let directory = FileName("directory")!

    /// - Returns: The error of `body`.
    private static func failure(
        _ body: () throws(Blocked) -> Void
    ) -> EngineError.Kind? {
        do throws(Blocked) {
            try body()
            return nil
        } catch {
            guard case .failure(let failure) = error else { return nil }
            return failure.kind
        }
    }

    /// Goal: a directory is listed again at its next use, however the kernel got its attributes.
    @Test func `do not keep the attributes of a directory that is not in use`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("directory"))
            try remote.otherClientWrites(Scenario.key("directory/a"), [1])
        } _: { it in
            func isIdle() throws -> [Bool] {
                let found = try #require(try it.engine.find(Self.directory, in: .root))
                let entries = try it.engine.entries(of: .root, after: 0, limit: 10)
                var change = AttributeChange()
                change.mode = 0o750
                let changed = try it.engine.setAttributes(of: found.inode, to: change)
                return [
                    found.isIdle, try #require(entries.first).attributes.isIdle, changed.isIdle,
                ]
            }
            let inode = try await it.find("directory")
            #expect(try isIdle() == [true, true, true])
            #expect(try !it.engine.attributes(of: .root).isIdle)
            // It is a use.
            #expect(try !it.engine.attributes(of: inode).isIdle)
            #expect(try isIdle() == [false, false, false])
            try await it.wait(.seconds(290))
            #expect(try isIdle() == [false, false, false])
            _ = it.mount.kernelCache.take()
            try await it.wait(.seconds(20))
            #expect(it.mount.kernelCache.take().attributes.contains(inode))
            #expect(try isIdle() == [true, true, true])
            #expect(try await it.names(in: "directory") == ["a"])
            #expect(try isIdle() == [false, false, false])
            let made = try it.engine.createDirectory(
                FileName("made")!, in: .root, mode: 0o755, caller: Caller(userID: 0, groupID: 0))
            #expect(made.isIdle)
        }
    }

    @Test func `are told that a file whose bytes are lost was emptied`() throws {
        try Scenario.run { it in
            try await it.write("a", [1, 2, 3])
            let inode = try await it.find("a")
            try it.mount.disk.open(StateFiles.content(of: inode)).truncate(to: 1)
            #expect(
                Self.failure { () throws(Blocked) in
                    try it.engine.open(inode, access: .read, truncating: false)
                } == .damaged)
            _ = it.mount.kernelCache.take()
            try await it.write("a", [4])
            #expect(it.mount.kernelCache.take().inodes.contains(inode))
            #expect(try await it.read("a") == [4])
        }
    }

    @Test func `are told that a write has cleared the set-user-ID bit`() throws {
        try Scenario.run { it in
            try await it.write("a", [1])
            let inode = try await it.find("a")
            var change = AttributeChange()
            change.mode = 0o4755
            _ = try it.engine.setAttributes(of: inode, to: change)
            try await it.open(inode)
            defer { it.engine.release(inode, access: .write) }
            _ = it.mount.kernelCache.take()
            try [UInt8(2)].withUnsafeBytes { bytes in
                try it.engine.write(inode, bytes, at: 0, clearsSetID: true)
            }
            #expect(it.mount.kernelCache.take().attributes.contains(inode))
            #expect(try it.engine.attributes(of: inode).mode == 0o755)
        }
    }

    /// Goal: `fstat` of a file that the remote has removed counts no names.
    @Test func `are told that an open file has lost its name`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1])
        } _: { it in
            let inode = try await it.find("a")
            #expect(try await it.read("a") == [1])
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            _ = it.mount.kernelCache.take()
            try it.remote.otherClientDeletes(Scenario.key("a"))
            try await it.refresh()
            #expect(it.mount.kernelCache.take().attributes.contains(inode))
            #expect(try it.engine.attributes(of: inode).links == 0)
            it.engine.release(inode, access: .read)
            try await it.wait(.seconds(60))
            // A program that opens it by a name that the kernel still has gets the error with which the
            // kernel looks the name up again.
            for isTruncating in [false, true] {
                #expect(
                    Self.failure { () throws(Blocked) in
                        try it.engine.open(inode, access: .write, truncating: isTruncating)
                    } == .changedRemotely)
            }
        }
    }
}
