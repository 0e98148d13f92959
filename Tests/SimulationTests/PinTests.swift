import Simulation
import Synchronization
import Testing

@testable import Engine

/// Goal: what is pinned is fetched without being opened, and stays.
@Suite("Pinned files and folders") struct PinTests {
    private static let bytes = [UInt8](repeating: 7, count: 10_000)
    /// The space that a file takes.
    private static let space: UInt64 = 12_288

    private static func run(
        cacheFiles: UInt64 = 1_000, _ paths: [String],
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = cacheFiles * space
        try Scenario.run(settings: settings) { remote in
            for folder in ["Photos", "Photos/old", "Other"] {
                try remote.otherClientMakesDirectory(Scenario.key(folder))
            }
            for path in paths { try remote.otherClientWrites(Scenario.key(path), bytes) }
        } _: {
            try await body($0)
        }
    }

    // MARK: Fetching

    @Test func `are fetched with all that is below them`() throws {
        try Self.run(["Photos/a", "Photos/old/b", "Other/c"]) { it in
            try await it.pin("Photos")
            try await it.awaitPins()
            #expect(try it.engine.pins.status().items == 1)
            #expect(try it.engine.pins.status().sums.files == 2)
            #expect(try it.engine.pins.status().sums.bytes == 2 * Self.space)
            #expect(try it.status().localBytes == 2 * Self.space)
            it.remote.setReachable(false)
            #expect(try await it.read("Photos/a") == Self.bytes)
            #expect(try await it.read("Photos/old/b") == Self.bytes)
        }
    }

    /// Goal: a selection of a folder and a file in it is the folder.
    @Test func `count once in a download of a folder and what is in it`() throws {
        try Self.run(cacheFiles: 3, ["Photos/a", "Photos/old/b"]) { it in
            _ = try await it.names(in: "Photos/old")
            let inodes = [
                try await it.find("Photos"), try await it.find("Photos/old"),
                try await it.find("Photos/old/b"),
            ]
            let sums = Mutex<[PinSums]>([])
            let outcome = try await it.engine.downloads.download(inodes) { sum in
                sums.withLock { $0.append(sum) }
            }
            guard case .done(failures: []) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            let files = sums.withLock { $0.map(\.files).max() }
            #expect(files == 2)
            #expect(try it.status().localBytes == 2 * Self.space)
        }
    }

    @Test func `include files that another client makes or changes later`() throws {
        try Self.run(["Photos/a"]) { it in
            try await it.pin("Photos")
            try await it.awaitPins()
            let changed = Array(Self.bytes.reversed()) + [1]
            try it.remote.otherClientMakesDirectory(Scenario.key("Photos/new"))
            try it.remote.otherClientWrites(Scenario.key("Photos/new/b"), Self.bytes)
            try it.remote.otherClientWrites(Scenario.key("Photos/a"), changed)
            try await it.wait(.seconds(60))
            it.remote.setReachable(false)
            #expect(try await it.read("Photos/a") == changed)
            #expect(try await it.read("Photos/new/b") == Self.bytes)
            #expect(try it.engine.pins.status().sums.files == 2)
        }
    }

    @Test func `keep a single file pinned that the remote replaces`() throws {
        try Self.run(["Photos/a"]) { it in
            try await it.pin("Photos/a")
            try await it.awaitPins()
            let changed = Array(Self.bytes.reversed()) + [1]
            try it.remote.otherClientWrites(Scenario.key("Photos/a"), changed)
            try await it.wait(.seconds(60))
            it.remote.setReachable(false)
            #expect(try await it.read("Photos/a") == changed)
            #expect(try it.engine.pins.status().items == 1)
        }
    }

    @Test func `are fetched once the remote is back, also by the next process`() throws {
        try Self.run(["Photos/a", "Photos/old/b"]) { it in
            _ = try await it.names(in: "Photos/old")
            it.remote.setReachable(false)
            _ = try? await it.read("Photos/a")
            try await it.wait(.seconds(60))
            try await it.pin("Photos")
            try await it.wait(.seconds(10))
            #expect(try it.engine.pins.status().hindrance == .outOfReach)
            #expect(try it.engine.pins.status().sums.filesMissing == 2)
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.engine.pins.status().items == 1)
            try await it.wait(.seconds(10))
            it.remote.setReachable(true)
            try await it.awaitPins()
            #expect(try it.status().localBytes == 2 * Self.space)
            #expect(try it.engine.pins.status().hindrance == nil)
        }
    }

    @Test func `that cannot be read are reported, and tried again`() throws {
        try Self.run(["Photos/a", "Photos/b"]) { it in
            it.remote.setFaults(SimulatedProviderFaults(.damagedRead, 1))
            try await it.pin("Photos")
            try await it.wait(.seconds(20))
            let status = try it.engine.pins.status()
            #expect(status.failures.map(\.path).sorted() == ["Photos/a", "Photos/b"])
            #expect(status.sums.filesMissing == 2)
            it.remote.setFaults(SimulatedProviderFaults())
            try await it.awaitPins()
            #expect(try it.engine.pins.status().failures.isEmpty)
        }
    }

    @Test func `are left alone for a while if the remote refuses many`() throws {
        try Self.run((0..<200).map { "Photos/\($0)" }) { it in
            it.remote.refuse(.busy, attempts: "read")
            try await it.pin("Photos")
            try await it.wait(.milliseconds(900))
            #expect(it.remote.refusalsGiven < 40)
            #expect(try it.engine.pins.status().failures.count == 20)
            it.remote.refuse(nil)
            try await it.awaitPins()
        }
    }

    @Test func `that only the remote denies do not stop the others`() throws {
        try Self.run((0..<60).map { "Photos/a\($0)" } + ["Photos/z"]) { it in
            it.remote.refuse(.denied, attempts: "Photos/a")
            try await it.pin("Photos")
            try await it.wait(.seconds(20))
            #expect(try it.engine.pins.status().sums.filesMissing == 60)
            #expect(try it.engine.pins.status().failures.count == 20)
        }
    }

    @Test func `are not pinned by a request that ends while they are counted`() throws {
        try Self.run(["Photos/a", "Photos/old/b"]) { it in
            let photos = try await it.find("Photos")
            it.remote.setDelay(.seconds(10))
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await #expect(throws: EngineError.self) {
                        try await it.engine.pins.pin([photos])
                    }
                    #expect(error?.kind == .interrupted)
                }
                try? await it.wait(.seconds(5))
                group.cancelAll()
            }
            #expect(try it.engine.pins.status().items == 0)
        }
    }

    /// Goal: programs have their turn. Method: the reads of pinned files that have begun and not ended.
    @Test func `are fetched a few at a time`() throws {
        try Self.run((0..<40).map { "Photos/\($0)" } + ["Other/a"]) { it in
            it.remote.setDelay(.seconds(1), attempts: "read")
            try await it.pin("Photos")
            let begin = it.mount.clock.uptime
            try await it.wait(.milliseconds(500))
            #expect(try await it.read("Other/a") == Self.bytes)
            #expect(it.mount.clock.uptime - begin < .seconds(4))
            #expect(try it.engine.pins.status().sums.filesMissing > 40 - 4 * 5)
            try await it.awaitPins()
        }
    }

    // MARK: The cache

    @Test func `stay while more than the cache is read`() throws {
        let others = (0..<20).map { "Other/\($0)" }
        try Self.run(cacheFiles: 8, ["Photos/a", "Photos/old/b"] + others) { it in
            try await it.pin("Photos")
            try await it.awaitPins()
            for other in others { #expect(try await it.read(other) == Self.bytes) }
            it.remote.setReachable(false)
            #expect(try await it.read("Photos/a") == Self.bytes)
            #expect(try await it.read("Photos/old/b") == Self.bytes)
            #expect(try it.status().localBytes <= 8 * Self.space)
        }
    }

    @Test func `are refused before anything is fetched if they do not fit`() throws {
        let paths = (0..<9).map { "Photos/old/\($0)" }
        try Self.run(cacheFiles: 8, paths + ["Other/a"]) { it in
            try await it.pin("Other")
            let inode = try await it.find("Photos")
            #expect(try await it.engine.pins.pin([inode])?.bytes == 10 * Self.space)
            #expect(try it.engine.pins.status().items == 1)
            try await it.awaitPins()
            #expect(try it.status().localBytes == Self.space)
            // Files that are pinned already do not count twice.
            let other = try await [it.find("Other"), it.find("Other/a"), it.find("Photos/old/0")]
            #expect(try await it.engine.pins.pin(other) == nil)
            try await it.awaitPins()
            #expect(try it.engine.pins.status().sums.files == 2)
        }
    }

    @Test func `that have grown beyond the cache are not fetched any further`() throws {
        try Self.run(cacheFiles: 8, ["Photos/0"]) { it in
            try await it.pin("Photos")
            try await it.awaitPins()
            for index in 1..<10 {
                try it.remote.otherClientWrites(Scenario.key("Photos/\(index)"), Self.bytes)
            }
            try await it.wait(.seconds(60))
            #expect(try it.engine.pins.status().hindrance == .excess)
            #expect(try it.engine.pins.status().sums.bytes == 10 * Self.space)
            #expect(try it.status().localBytes == Self.space)
            try it.remote.otherClientDeletes(Scenario.key("Photos/9"))
            try it.remote.otherClientDeletes(Scenario.key("Photos/8"))
            try await it.wait(.seconds(60))
            #expect(try it.engine.pins.status().hindrance == nil)
            try await it.awaitPins()
        }
    }

    @Test func `are not evicted on request until they are unpinned`() throws {
        try Self.run(["Photos/a", "Photos/old/b", "Other/c"]) { it in
            try await it.pin("Photos")
            _ = try await it.read("Other/c")
            try await it.awaitPins()
            let all = try it.engine.evict(.root)
            #expect(all.files == 1)
            #expect(all.refused.map(\.path) == ["Photos"])
            #expect(all.refused.first?.reason == "it is pinned; run `apus unpin` first")
            let file = try it.engine.evict(try await it.find("Photos/old/b"))
            #expect(file.refused.map(\.path) == ["Photos/old/b"])
            #expect(file.refused.first?.reason.contains("the folder \"Photos\" is pinned") == true)
            #expect(try it.status().localBytes == 2 * Self.space)

            let photos = try await it.find("Photos")
            #expect(try it.engine.pins.unpin(photos) == 1)
            try await it.pin("")
            #expect(
                try it.engine.evict(photos).refused.first?.reason
                    == "the whole mount is pinned; run `apus unpin` for that first")
            #expect(try it.engine.pins.unpin(.root) == 1)
            #expect(try it.engine.pins.unpin(photos) == 0)
            #expect(try it.engine.evict(photos).files == 2)
        }
    }

    // MARK: Names

    @Test func `are those of the place where a file is now`() throws {
        try Self.run(["Photos/a", "Photos/old/b", "Other/c"]) { it in
            try await it.pin("Photos")
            try await it.pin("Photos/old/b")
            try await it.rename("Photos", to: "Other/Pictures")
            #expect(try await it.pinAttribute("Other/Pictures") == "1")
            #expect(try await it.pinAttribute("Other/Pictures/a") == "inherited")
            try await it.rename("Other/Pictures/a", to: "a")
            #expect(try await it.pinAttribute("a") == nil)
            try await it.rename("Other/Pictures/old/b", to: "b")
            #expect(try await it.pinAttribute("b") == "1")
            try await it.rename("Other/c", to: "Other/Pictures/c")
            try await it.awaitPins()
            #expect(try await it.pinAttribute("Other/Pictures/c") == "inherited")
            it.remote.setReachable(false)
            #expect(try await it.read("Other/Pictures/c") == Self.bytes)
        }
    }

    @Test func `keep a file pinned that a program replaces`() throws {
        try Self.run(["Photos/a"]) { it in
            try await it.pin("Photos/a")
            try await it.write("Photos/temporary", Self.bytes)
            try await it.rename("Photos/temporary", to: "Photos/a")
            #expect(try await it.pinAttribute("Photos/a") == "1")
        }
    }

    @Test func `keep both versions of a conflict pinned`() throws {
        try Self.run(["Photos/a"]) { it in
            try await it.pin("Photos/a")
            try await it.awaitPins()
            try await it.write("Photos/a", [1, 2, 3])
            try it.remote.otherClientWrites(Scenario.key("Photos/a"), [4, 5])
            #expect(try await it.rest())
            let names = try await it.names(in: "Photos")
            #expect(names.count == 3)
            for name in names where name != "old" {
                #expect(try await it.pinAttribute("Photos/\(name)") == "1")
            }
        }
    }

    @Test func `are unpinned with the folder that contains them`() throws {
        try Self.run(["Photos/a", "Photos/old/b"]) { it in
            try await it.pin("Photos/old")
            try await it.pin("Photos/a")
            let photos = try await it.find("Photos")
            #expect(try it.engine.pins.unpin(photos) == 2)
            #expect(try it.engine.pins.status() == PinStatus())
            try await it.pin("Photos")
            let old = try await it.find("Photos/old")
            let error = #expect(throws: EngineError.self) { try it.engine.pins.unpin(old) }
            #expect(error?.kind == .invalid)
            #expect(error?.attempt.contains("pinned with the folder \"Photos\"") == true)
            #expect(try it.engine.pins.unpin(photos) == 1)
            try await it.pin("Photos/a")
            try await it.unlink("Photos/a")
            #expect(try it.engine.pins.status().items == 0, "the file is removed")
        }
    }

    // MARK: The attribute

    @Test func `can be set as an attribute, which is not sent`() throws {
        try Self.run(cacheFiles: 8, ["Photos/a"] + (0..<9).map { "Other/\($0)" }) { it in
            let photos = try await it.find("Photos")
            #expect(try await it.pinAttribute("Photos") == nil)
            try it.set("user.apus.pin", "1", of: photos)
            try await it.awaitPins()
            #expect(try it.status().localBytes == Self.space)
            #expect(try await it.pinAttribute("Photos") == "1")
            #expect(try it.status().pending.count == 0)
            it.expect(.invalid) { try it.set("user.apus.pin", "2", of: photos) }
            try it.set("user.apus.pin", "0", of: photos)
            #expect(try await it.pinAttribute("Photos") == nil)
            it.expect(.noAttribute) { try it.set("user.apus.pin", nil, of: photos) }
            try it.set("user.apus.pin", "1", of: photos)
            try it.set("user.apus.pin", nil, of: photos)
            #expect(try await it.pinAttribute("Photos") == nil)

            let other = try await it.find("Other")
            _ = try await it.names(in: "Other")
            it.expect(.outOfSpace) { try it.set("user.apus.pin", "1", of: other) }
            #expect(try it.engine.pins.status().items == 0)
            let refusal = try it.engine.pins.status().refusal
            #expect(refusal?.path == "Other")
            #expect(
                refusal?.excess == PinExcess(bytes: 9 * Self.space, bytesMax: 8 * Self.space))
            // It is of interest until something is pinned or unpinned, or for an hour.
            try it.set("user.apus.pin", "0", of: other)
            #expect(try it.engine.pins.status().refusal == nil)
            it.expect(.outOfSpace) { try it.set("user.apus.pin", "1", of: other) }
            try await it.wait(.seconds(3_000))
            #expect(try it.engine.pins.status().refusal != nil)
            try await it.wait(.seconds(700))
            #expect(try it.engine.pins.status().refusal == nil)
        }
    }

    /// Goal: a large tree neither holds the kernel up nor fills the cache beyond its bound.
    @Test
    func `are counted in the background beyond 512 folders, and not fetched if they do not fit`()
        throws
    {
        let folders = (0..<400).map { "Other/\($0)" }
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 380 * Self.space
        try Scenario.run(settings: settings) { remote in
            for folder in ["Other", "Photos"] + folders {
                try remote.otherClientMakesDirectory(Scenario.key(folder))
            }
            for path in ["Photos/a"] + folders.map({ "\($0)/a" }) {
                try remote.otherClientWrites(Scenario.key(path), Self.bytes)
            }
        } _: { it in
            _ = try await it.names(in: "Other")
            for folder in folders { _ = try await it.names(in: folder) }
            let (photos, other) = (try await it.find("Photos"), try await it.find("Other"))
            try it.set("user.apus.pin", "1", of: photos)
            try await it.awaitPins()
            // Of the new tree, 255 folders and their pages are counted: they would fit.
            try it.set("user.apus.pin", "1", of: other)
            try await it.wait(.seconds(120))
            let status = try it.engine.pins.status()
            #expect(status.isCounted && status.hindrance == .excess)
            #expect(status.sums.bytes == 401 * Self.space)
            #expect(try it.status().localBytes == Self.space)
            try it.set("user.apus.pin", "0", of: other)
        }
    }
}

extension Scenario {
    fileprivate func pin(_ path: String) async throws {
        #expect(try await engine.pins.pin([try await find(path)]) == nil)
    }

    /// Waits until nothing that is pinned is missing.
    fileprivate func awaitPins() async throws {
        for _ in 0..<600 {
            let status = try engine.pins.status()
            if status.isCounted, status.sums.filesMissing == 0 { return }
            try await wait(.milliseconds(200))
        }
        Issue.record("pinned files are missing: \(try engine.pins.status())")
    }

    fileprivate func pinAttribute(_ path: String) async throws -> String? {
        let inode = try await find(path)
        do throws(Blocked) {
            let value = try engine.extendedAttribute(Array(PinRequests.attribute.utf8), of: inode)
            return String(decoding: value, as: UTF8.self)
        } catch {
            return nil
        }
    }
}
