import Simulation
import Testing

@testable import Engine

/// Goal: the status shows the current state.
struct StatusTests {
    @Test func `the status shows the progress of a download`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = (1 << 20)...(1 << 20)
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(
                Scenario.key("film"), [UInt8](repeating: 7, count: 3 << 20))
        } _: { it in
            let film = try await it.find("film")
            #expect(try it.status().downloading == 0)
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(film, access: .read, truncating: false)
            }
            // The first byte arrives with the first piece; the rest of a small file follows by itself.
            _ = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.read(film, at: 0, length: 1)
            }
            let status = try it.status()
            #expect(status.downloading == 1)
            // The next piece may have arrived at the same instant.
            #expect((1 << 20...2 << 20).contains(status.localBytes))
            let download = try #require(status.downloads.first)
            #expect(download.path == "film")
            #expect(download.state == .partial)
            let bytesHere = try #require(download.bytesHere)
            #expect((1 << 20...2 << 20).contains(bytesHere))
            #expect(download.size == 3 << 20)

            var rings = it.engine.changeCount
            while try it.status().downloading > 0 {
                await it.engine.waitForChange(after: rings)
                rings = it.engine.changeCount
            }
            #expect(try it.status().downloads.isEmpty)
            #expect(try it.status().localBytes == 3 << 20)
            it.engine.release(film, access: .read)
            #expect(try it.status().localBytes == 3 << 20)
        }
    }

    /// Method: one piece takes eight seconds.
    @Test func `each second in which bytes arrive is a change`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = (128 << 10)...(128 << 10)
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(
                Scenario.key("film"), [UInt8](repeating: 7, count: 1 << 20))
        } _: { it in
            let film = try await it.find("film")
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(film, access: .read, truncating: false)
            }
            var seen: Set<UInt64> = []
            repeat {
                let count = it.engine.changeCount
                seen.insert(it.engine.bytesReceived)
                await it.engine.waitForChange(after: count, within: .seconds(60))
            } while try it.status().downloading > 0
            #expect(seen.isSuperset(of: (1...7).map { UInt64($0) * 128 << 10 }), "\(seen)")
            it.engine.release(film, access: .read)
        }
    }

    /// Method: pages of two names; a name that was seen is removed in between, and another one is made.
    @Test func `a listing in pages is by name and has each once, with its state`() throws {
        try Scenario.run { remote in
            for name in ["d", "b", "c", "a"] {
                try remote.otherClientWrites(Scenario.key(name), [7])
            }
        } _: { it in
            var items: [ListedItem] = []
            var page: [ListedItem] = []
            repeat {
                page = try await ItemLister(it.engine).items(
                    of: .root, after: items.last?.name, limit: 2)
                items += page
                if items.count == 2 {
                    try await it.unlink(items[0].name.description)
                    try await it.write("new", [1, 2, 3])
                }
            } while !page.isEmpty
            #expect(items.map(\.name.description) == ["a", "b", "c", "d", "new"])
            for item in items {
                let isNew = item.name == FileName("new")
                #expect(item.condition == .state(isNew ? .dirty : .remote))
                #expect(item.size == (isNew ? 3 : 1))
            }
        }
    }

    /// Method: counts the transactions that change something.
    @Test func `the last use of files is stored for many together, and before an eviction`() throws
    {
        try Scenario.run { remote in
            for index in 0..<50 { try remote.otherClientWrites(Scenario.key("f\(index)"), [7]) }
        } _: { it in
            for index in 0..<50 { _ = try await it.read("f\(index)") }
            try await it.wait(.seconds(120))
            let before = it.engine.store.commitCount
            for index in 0..<50 where index != 30 { _ = try await it.read("f\(index)") }
            #expect(it.engine.store.commitCount == before)
            #expect(try it.engine.local.space.evictLeastRecentlyUsed(atLeast: 1) > 0)
            #expect(it.engine.store.commitCount == before + 2)
            #expect(try it.engine.itemState(of: try await it.find("f30")) == .remote)
            // Others are stored within seconds.
            try await it.wait(.seconds(120))
            _ = try await it.read("f1")
            let stored = it.engine.store.commitCount
            try await it.wait(.seconds(10))
            #expect(it.engine.store.commitCount == stored + 1)
        }
    }

    @Test func `a directory above that has not moved yet counts for what is below it`() throws {
        try Scenario.run { it in
            try await it.makeDirectory("old")
            try await it.makeDirectory("old/sub")
            try await it.write("old/sub/file", [1])
            try await it.write("beside", [2])
            #expect(try await it.rest())
            it.remote.setReachable(false)
            try await it.rename("old", to: "new")
            for path in ["new", "new/sub", "new/sub/file"] {
                let inode = try await it.find(path)
                let status = try it.engine.status(below: inode, limit: 10)
                #expect(!status.pending.isSettled)
                #expect(status.pending.count == 1)
                #expect(status.items.map(\.path) == ["new"])
                let isAbove = path != "new"
                #expect(try await status.pending.above == (isAbove ? [it.find("new")] : []))
            }
            // Several paths below it count it once.
            var counted: Set<InodeNumber> = []
            for (path, count) in [("new/sub", 1), ("new/sub/file", 0)] {
                var status = try it.engine.status(below: try await it.find(path), limit: 10)
                status.leaveOut(&counted)
                #expect(status.pending.count == count && status.items.count == count)
            }
            let beside = try await it.find("beside")
            #expect(try it.engine.status(below: beside, limit: 10).pending.count == 0)
            it.remote.setReachable(true)
            let file = try await it.find("new/sub/file")
            try it.engine.hasten(below: [file])
            #expect(try await it.rest(within: .seconds(5)))
            #expect(it.remotePaths == ["beside", "new", "new/sub", "new/sub/file"])
            #expect(try it.engine.status(below: file, limit: 10).pending.isSettled)

            // Other changes of a directory above do not concern what is below it.
            it.remote.setReachable(false)
            var change = AttributeChange()
            change.mode = 0o700
            _ = try it.engine.setAttributes(of: try await it.find("new"), to: change)
            #expect(try it.engine.status(below: file, limit: 10).pending.isSettled)
        }
    }

    @Test func `failures hide neither transfers nor held deletions`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = (1 << 20)...(1 << 20)
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        try Scenario.run(settings: settings) { remote in
            for index in 0..<150 {
                try remote.otherClientWrites(Scenario.key("f\(index)"), [1])
            }
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.denied, attempts: "bad")
            for index in 0..<3 { try await it.write("bad\(index)", [1]) }
            for index in 0..<150 {
                try it.remote.otherClientDeletes(Scenario.key("f\(index)"))
            }
            try await it.refresh()
            try await it.wait(.seconds(30))
            try await it.write("film", [UInt8](repeating: 7, count: 30 << 20))
            try await it.wait(.seconds(10))
            let items = try it.engine.status(below: .root, limit: 2).items
            #expect(items.prefix(2).allSatisfy { $0.path.hasPrefix("bad") }, "\(items)")
            #expect(items.count { $0.failure == .awaitsConfirmation } == 2, "\(items)")
            #expect(items.last?.path == "film" && items.last?.state == .uploading, "\(items)")
        }
    }

    /// Goal: temporary names of objects on the remote are never shown.
    @Test func `an object under a temporary name is shown with its current or former local path`()
        throws
    {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            try await it.makeDirectory("sub")
            try await it.write("sub/a", [1, 2, 3])
            try await it.write("sub/b", [4, 5])
            #expect(try await it.rest())
            try await it.rename("sub/a", to: "sub/c")
            try await it.rename("sub/b", to: "sub/a")
            try await it.rename("sub/c", to: "sub/b")
            try await Self.standAside(it, refusing: "move \"apus-moving-")
            var items = try it.status().items
            #expect(Set(items.map(\.path)).isSubset(of: ["sub/a", "sub/b"]))
            let failed = try #require(items.first { $0.failure?.what.hasPrefix("move") == true })
            #expect(failed.failure?.what == "move \"\(failed.path)\"")

            try await it.unlink(failed.path)
            items = try it.status().items
            #expect(items.first { $0.inode == failed.inode }?.path == failed.path)
            await it.mount.kill()
            try it.mount.start()
            items = try it.status().items
            #expect(items.first { $0.inode == failed.inode }?.path == failed.path)
        }
    }

    @Test func `a removed folder under a temporary name is shown with its former path`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            try await it.makeDirectory("sub")
            try await it.makeDirectory("sub/d")
            try await it.write("sub/d/f", [1])
            try await it.write("sub/d/g", [2])
            #expect(try await it.rest())
            // The file waits for the folder's name, and the folder for the file to leave it.
            try await it.rename("sub/d/f", to: "sub/f")
            try await it.unlink("sub/d/g")
            try await it.removeDirectory("sub/d")
            try await it.rename("sub/f", to: "sub/d")
            try await Self.standAside(it, refusing: "delete \"")
            let paths = Set(try it.status().items.map(\.path))
            #expect(paths.isSubset(of: ["sub/d", "sub/d/g"]), "\(paths)")
            for failure in try it.status().items.compactMap(\.failure) {
                #expect(!failure.what.contains("apus-moving"), "\(failure)")
            }
            // It contains an object unknown here, so it reappears beside its place.
            let aside = try #require(it.remotePaths.first { $0.hasPrefix("apus-moving-") })
            try it.remote.otherClientWrites(Scenario.key("\(aside)/unseen"), [9])
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(try await it.names(in: "") == ["sub"])
            let revived = try #require(try await it.names(in: "sub").first { $0.hasPrefix("d (") })
            #expect(try await it.names(in: "sub") == ["d", revived])
            #expect(it.remoteBytes("sub/\(revived)/unseen") == [9])
        }
    }

    /// Goal: `apus sync DIR` waits for what was removed in it, also while that has a temporary name.
    @Test func `a removed folder under a temporary name counts for its former directory`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            for path in ["other", "sub", "sub/deep", "sub/deep/d"] {
                try await it.makeDirectory(path)
            }
            try await it.write("sub/deep/d/f", [1])
            try await it.write("sub/deep/d/g", [2])
            #expect(try await it.rest())
            try await it.rename("sub/deep/d/f", to: "sub/f")
            try await it.unlink("sub/deep/d/g")
            try await it.removeDirectory("sub/deep/d")
            try await it.rename("sub/f", to: "sub/deep/d")
            // Also the deletion of the file, which may come before the folder moves.
            try await Self.standAside(it, refusing: "delete \"")
            try await it.wait(.seconds(100))
            let (sub, other) = (try await it.find("sub"), try await it.find("other"))
            let deep = try await it.find("sub/deep")
            for directory in [deep, sub] {
                #expect(try it.engine.pending(below: directory).deletions == 2)
                #expect(try it.engine.status(below: directory, limit: 10).items.count == 2)
            }
            #expect(try it.engine.pending(below: other).count == 0)
            // Also once its former directory is gone.
            it.remote.refuse(nil)
            it.remote.refuse(.denied, attempts: "delete \"apus-moving-")
            try await it.unlink("sub/deep/d")
            try await it.removeDirectory("sub/deep")
            try await it.wait(.seconds(100))
            #expect(!it.remotePaths.contains("sub/deep"))
            #expect(try it.engine.pending(below: sub).deletions == 2)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(try it.engine.pending(below: sub).count == 0)
            #expect(it.remotePaths == ["other", "sub"])
        }
    }

    /// Waits until an object has a temporary name, which it keeps, as the remote refuses some
    /// calls.
    private static func standAside(_ it: Scenario, refusing attempts: String) async throws {
        it.remote.refuse(.denied, attempts: attempts)
        var isAside: Bool { it.remotePaths.contains { $0.hasPrefix("apus-moving-") } }
        for _ in 0..<100
        where try !isAside || it.status().items.allSatisfy({ $0.failure == nil }) {
            try await it.wait(.seconds(1))
        }
        try #require(isAside)
    }
}
