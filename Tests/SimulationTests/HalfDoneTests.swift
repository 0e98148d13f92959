import Simulation
import Testing

@testable import Engine

/// Goal: the leftovers of an interrupted operation are recognised as ours, even if its local file
/// has changed.
@Suite("Interrupted operations of several steps")
struct HalfDoneTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.storesAttributesAtOnce = false
        settings.provider.movesFilesAtOnce = false
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        return settings
    }

    /// Cuts the network as soon as the remote has an object.
    private static func cut(_ it: Scenario, once path: String) async throws {
        for _ in 0..<1_000 {
            if it.remotePaths.contains(path) { return it.remote.setReachable(false) }
            try await it.wait(.milliseconds(10))
        }
        Issue.record("\(path) never came")
    }

    enum Change: CaseIterable {
        case none, edit, unlink, rename
    }

    @Test(arguments: Change.allCases)
    func `an upload whose attributes did not arrive`(change: Change) throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try it.set("user.a", "1", of: try await it.find("a"))
            try await Self.cut(it, once: "a")
            var expected: [String: [UInt8]] = ["a": [1, 2, 3]]
            switch change {
            case .none: break
            case .edit:
                try await it.write("a", [9, 9])
                expected = ["a": [9, 9]]
            case .unlink:
                try await it.unlink("a")
                expected = [:]
            case .rename:
                try await it.rename("a", to: "b")
                expected = ["b": [1, 2, 3]]
            }
            try await it.wait(.seconds(5))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == Array(expected.keys))
            #expect(try await it.names(in: "") == Array(expected.keys))
            for (path, bytes) in expected {
                #expect(it.remoteBytes(path) == bytes)
                let inode = try await it.find(path)
                let attributes = try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.attributes(of: inode)
                }
                let object = try await it.remote.stat(Scenario.key(path))
                #expect(object.modified == attributes.modified, "the time is sent after all")
                #expect(it.remoteAttributes(path) == ["user.a": "1"])
            }
        }
    }

    @Test func `another client's upload of the same size does not count as ours`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try await Self.cut(it, once: "a")
            try it.remote.otherClientWrites(Scenario.key("a"), [4, 5, 6])
            try await it.write("a", [9, 9])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("a") == [4, 5, 6])
            #expect(it.remotePaths.count == 2, "and ours is beside it")
        }
    }

    @Test(arguments: [Change.none, .edit, .unlink])
    func `a move interrupted between copy and deletion`(change: Change) throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            try await it.rename("a", to: "b")
            try await Self.cut(it, once: "b")
            #expect(it.remotePaths == ["a", "b"])
            var expected: [UInt8]? = [1, 2, 3]
            switch change {
            case .edit:
                try await it.write("b", [9, 9])
                expected = [9, 9]
            case .unlink:
                try await it.unlink("b")
                expected = nil
            default: break
            }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == (expected == nil ? [] : ["b"]))
            #expect(it.remoteBytes("b") == expected)
            #expect(try await it.names(in: "") == it.remotePaths)
        }
    }

    enum Replacement: CaseIterable {
        case file, directory, nothing

        fileprivate func replace(_ path: String, on remote: SimulatedProvider) throws {
            let key = Scenario.key(path)
            switch self {
            case .file: try remote.otherClientWrites(key, [7, 7, 7, 7])
            case .directory:
                try remote.otherClientDeletes(key)
                try remote.otherClientMakesDirectory(key)
            case .nothing: try remote.otherClientDeletes(key)
            }
        }
    }

    /// Method: the store refuses to delete the original of the copy, as it is another object or none.
    @Test(arguments: Replacement.allCases, [false, true])
    func `a move to a temporary name, whose source another client replaces after the copy`(
        by replacement: Replacement, passesOnRefusals: Bool
    ) throws {
        var settings = Self.settings
        settings.provider.passesOnRefusals = passesOnRefusals
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try await it.write("b", [4, 5])
            #expect(try await it.rest())
            // A circle, so that one of them stands aside for a while.
            try await it.rename("a", to: "c")
            try await it.rename("b", to: "a")
            try await it.rename("c", to: "b")
            for _ in 0..<1_000 where it.remotePaths.count < 3 {
                try await it.wait(.milliseconds(10))
            }
            let aside = try #require(it.remotePaths.first { $0.hasPrefix("apus-moving-") })
            let former = it.remoteBytes(aside) == [1, 2, 3] ? "a" : "b"
            try replacement.replace(former, on: it.remote)
            #expect(try await it.rest())
            try await it.refresh()
            #expect(!it.remotePaths.contains { $0.hasPrefix("apus-moving-") })
            #expect(try await it.names(in: "") == it.remotePaths)
            let contents = Set(it.remotePaths.compactMap { it.remoteBytes($0) })
            let others: [[UInt8]] = replacement == .file ? [[7, 7, 7, 7]] : []
            #expect(contents == Set([[1, 2, 3], [4, 5]] + others))
        }
    }

    @Test(arguments: Replacement.allCases, [false, true])
    func `a move whose source another client replaces after the copy`(
        by replacement: Replacement, passesOnRefusals: Bool
    ) throws {
        var settings = Self.settings
        settings.provider.passesOnRefusals = passesOnRefusals
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            let inode = try await it.find("a")
            try await it.rename("a", to: "b")
            for _ in 0..<1_000 where it.remotePaths.count < 2 {
                try await it.wait(.milliseconds(10))
            }
            #expect(it.remotePaths == ["a", "b"])
            try replacement.replace("a", on: it.remote)
            #expect(try await it.rest())
            try await it.refresh()
            #expect(it.remotePaths == (replacement == .nothing ? ["b"] : ["a", "b"]))
            #expect(it.remoteBytes("b") == [1, 2, 3])
            #expect(try await it.names(in: "") == it.remotePaths)
            #expect(try await it.find("b") == inode, "it is the moved file, not a new one")
        }
    }

    /// Goal: another client's object at the new place is seen at once, and not compared again and again.
    @Test func `a move whose source is gone, and whose new place another client has taken`() throws
    {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            try await it.rename("a", to: "b")
            try it.remote.otherClientDeletes(Scenario.key("a"))
            try it.remote.otherClientWrites(Scenario.key("b"), [7, 8, 9])
            #expect(try await it.rest(within: .seconds(10)))
            #expect(it.remoteBytes("b") == [7, 8, 9])
            try await it.refresh()
            #expect(try await it.names(in: "") == it.remotePaths)
        }
    }

    @Test func `another mount's leftover under a temporary name is not in the way`() throws {
        try Scenario.run(settings: Self.settings) { remote in
            for inode in 1..<20 {
                try remote.otherClientWrites(Scenario.key("apus-moving-\(inode)"), [9])
            }
        } _: { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try await it.write("b", [4, 5])
            let places = try await [it.find("a"), it.find("b")].map { "apus-moving-\($0)" }
            for place in places where it.remoteBytes(place) == nil {
                try it.remote.otherClientWrites(Scenario.key(place), [9])
            }
            #expect(try await it.rest())
            try await it.rename("a", to: "c")
            try await it.rename("b", to: "a")
            try await it.rename("c", to: "b")
            #expect(try await it.rest())
            #expect(it.remoteBytes("a") == [4, 5])
            #expect(it.remoteBytes("b") == [1, 2, 3])
            for place in places { #expect(it.remoteBytes(place) == [9]) }
        }
    }

    @Test
    func
        `another mount's leftover with the same inode number is moved to a temporary name like any other object`()
        throws
    {
        let foreign = "apus-moving-2-5eed"
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key(foreign), [9])
        } _: { it in
            _ = try await it.names(in: "")
            #expect(try await it.find(foreign) == InodeNumber(rawValue: 2))
            // The one waits for the folder, and the folder for the name.
            try await it.makeDirectory("d")
            try await it.rename(foreign, to: "d/inside")
            try await it.rename("d", to: foreign)
            #expect(try await it.rest())
            #expect(it.remotePaths == [foreign, "\(foreign)/inside"])
            #expect(it.remoteBytes("\(foreign)/inside") == [9])
        }
    }

    @Test
    func `an object under a temporary name stays there, whatever claims its place or waits for it`()
        throws
    {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("x", [1])
            try await it.makeDirectory("d")
            #expect(try await it.rest())
            it.remote.setReachable(false)
            let (file, directory) = try await (it.find("x"), it.find("d"))
            let aside = try it.engine.store.write { database in
                var synced = try #require(try database.synced(directory))
                synced.name = .aside(directory, salt: try database.salt())
                try database.setSynced(synced, of: directory)
                return synced.name
            }
            try await it.rename("x", to: "d/x")
            try await it.rename("d", to: "x")
            try await it.write("\(aside)", [2])
            let state = try it.engine.store.read { try $0.syncState(of: directory) }
            #expect(state?.isPlaceWanted == false)
            #expect(state.map(Planner.plan) == .wait(file))
        }
    }

    @Test func `a move that never arrived, onto a file of the same size and time`() throws {
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
            try remote.otherClientWrites(Scenario.key("b"), [4, 5, 6])
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.rename("a", to: "b")
            try await it.wait(.seconds(10))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b"])
            #expect(it.remoteBytes("b") == [1, 2, 3])
        }
    }

    @Test func `a move that never arrived, onto a file of the same bytes`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            for name in ["a", "b"] {
                try await it.write(name, [1, 2, 3])
                try it.set("user.\(name)", "1", of: try await it.find(name))
            }
            #expect(try await it.rest())
            it.remote.setReachable(false)
            try await it.rename("a", to: "b")
            try await it.wait(.seconds(10))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b"])
            #expect(it.remoteAttributes("b") == ["user.a": "1"], "the moved file keeps its own")
        }
    }

    /// Goal: the moved file keeps its time, even if its bytes were found in another client's file.
    @Test func `a move that never arrived, to where another client wrote the same bytes`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            let modified = try it.engine.attributes(of: try await it.find("a")).modified
            it.remote.setReachable(false)
            try await it.rename("a", to: "b")
            try await it.wait(.seconds(10))
            try it.remote.otherClientWrites(Scenario.key("b"), [1, 2, 3])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b"])
            #expect(try await it.remote.stat(Scenario.key("b")).modified == modified)
            #expect(try it.engine.attributes(of: try await it.find("b")).modified == modified)
        }
    }

    /// Goal: another client's directory does not keep our temporary name.
    ///
    /// Method: it takes the link's place after the move was sent.
    @Test func `a link that makes way, and that another client replaces by a directory`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .seconds(1)...(.seconds(1))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1, 2, 3])
        } _: { it in
            try await it.makeSymlink("link")
            #expect(try await it.rest())
            try await it.rename("file", to: "aside")
            try await it.rename("link", to: "file")
            try await it.rename("aside", to: "link")
            for _ in 0..<1_000 {
                if try it.status().items.contains(where: { $0.transfer != nil }) { break }
                try await it.wait(.milliseconds(10))
            }
            try it.remote.otherClientDeletes(Scenario.key("link"))
            try it.remote.otherClientMakesDirectory(Scenario.key("link"))
            try await it.unlink("file")
            #expect(try await it.rest())
            try await it.refresh()
            #expect(!it.remotePaths.contains { $0.hasPrefix("apus-moving-") })
            #expect(try await it.names(in: "") == it.remotePaths)
        }
    }

    /// Goal: the same if the answers are lost.
    @Test(arguments: [false, true])
    func `a directory in the place of a moved link does not keep its temporary name`(
        movesDirectoriesAtOnce: Bool
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.movesDirectoriesAtOnce = movesDirectoriesAtOnce
        try Scenario.run(settings: settings) { it in
            for name in ["a", "b"] { try await it.makeSymlink(name, to: name) }
            #expect(try await it.rest())
            try await it.rename("a", to: "aside")
            try await it.rename("b", to: "a")
            try await it.rename("aside", to: "b")
            for path in ["a", "b"] {
                try it.remote.otherClientDeletes(Scenario.key(path))
                try it.remote.otherClientMakesDirectory(Scenario.key(path))
                try it.remote.otherClientWrites(Scenario.key("\(path)/\(path)"), [7])
            }
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 0.5))
            try await it.wait(.seconds(60))
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            try await it.refresh()
            #expect(!it.remotePaths.contains { $0.hasPrefix("apus-moving-") })
            #expect(it.remotePaths.filter { it.remoteBytes($0) == [7] }.count == 2)
            #expect(try await it.names(in: "") == it.remotePaths.filter { !$0.contains("/") })
        }
    }

    /// Goal: a file that another client moved over our moved file does not count as ours (I4), even
    /// with equal size and time.
    @Test(arguments: [Change.none, .edit])
    func `a move whose reply was lost, followed by another client's`(change: Change) throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
            try remote.otherClientWrites(Scenario.key("c"), [4, 5, 6])
        } _: { it in
            _ = try await it.names(in: "")
            _ = try await it.read("a")
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            try await it.rename("a", to: "b")
            try await Self.cut(it, once: "b")
            it.remote.setFaults(SimulatedProviderFaults())
            if change == .edit { try await it.write("b", [9, 9, 9]) }
            try it.remote.otherClientRenames(Scenario.key("c"), to: Scenario.key("b"))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.refresh()
            #expect(it.remoteBytes("b") == [4, 5, 6])
            #expect(try await it.read("b") == [4, 5, 6])
            #expect(try await it.names(in: "") == it.remotePaths)
            let ours = try #require(it.remotePaths.first { $0 != "b" }, "it is kept beside")
            #expect(it.remoteBytes(ours) == (change == .edit ? [9, 9, 9] : [1, 2, 3]))
        }
    }

    /// Goal: a file that replaces one of the same size and time is uploaded (I2).
    @Test(arguments: [false, true])
    func `a replacement of a file of the same size and time`(isRenamed: Bool) throws {
        let time = Timestamp(seconds: 1_000_000_000)
        try Scenario.run { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try it.setTime(time, of: try await it.find("a"))
            #expect(try await it.rest())
            it.remote.setReachable(false)
            if !isRenamed { try await it.unlink("a") }
            let draft = isRenamed ? "draft" : "a"
            try await it.write(draft, [4, 5, 6])
            try it.setTime(time, of: try await it.find(draft))
            if isRenamed { try await it.rename(draft, to: "a") }
            // Long enough for a request to be lost.
            try await it.wait(.seconds(10))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a"])
            #expect(it.remoteBytes("a") == [4, 5, 6])
            #expect(try await it.read("a") == [4, 5, 6])
        }
    }

    /// Goal: another client's file of the same size and time does not count as an upload whose answer
    /// was lost (I4), and the upload itself is recognised.
    @Test(arguments: [false, true], [Change.none, .edit])
    func `an upload without an answer, then a file of the same size and time`(
        isToldAhead: Bool, change: Change
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.tellsVersionsAhead = isToldAhead
        for isOverwritten in [false, true] {
            try Scenario.run(settings: settings) { it in
                _ = try await it.names(in: "")
                it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
                try await it.write("a", [1, 2, 3])
                try await Self.cut(it, once: "a")
                it.remote.setFaults(SimulatedProviderFaults())
                if isOverwritten {
                    try it.remote.otherClientOverwrites(Scenario.key("a"), seed: 1)
                }
                let theirs = try #require(it.remoteBytes("a"))
                #expect((theirs == [1, 2, 3]) == !isOverwritten)
                if change == .edit { try await it.write("a", [9, 9, 9]) }
                it.remote.setReachable(true)
                #expect(try await it.rest())
                try await it.refresh()
                let ours: [UInt8] = change == .edit ? [9, 9, 9] : [1, 2, 3]
                #expect(try await it.names(in: "") == it.remotePaths)
                #expect(try await it.read("a") == (isOverwritten ? theirs : ours))
                #expect(it.remoteBytes("a") == (isOverwritten ? theirs : ours))
                let beside = it.remotePaths.filter { $0 != "a" }.compactMap { it.remoteBytes($0) }
                #expect(beside == (isOverwritten ? [ours] : []))
            }
        }
    }

    /// Goal: the same after a move, on a store that moves by copying and makes a new version.
    @Test(arguments: [false, true])
    func `a move without an answer, then a file of the same size and time`(isOverwritten: Bool)
        throws
    {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            try await it.rename("a", to: "b")
            for _ in 0..<1_000 where !it.remotePaths.contains("b") {
                try await it.wait(.milliseconds(10))
            }
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            for _ in 0..<1_000 where it.remotePaths.contains("a") {
                try await it.wait(.milliseconds(10))
            }
            it.remote.setReachable(false)
            it.remote.setFaults(SimulatedProviderFaults())
            if isOverwritten { try it.remote.otherClientOverwrites(Scenario.key("b"), seed: 1) }
            let theirs = try #require(it.remoteBytes("b"))
            try await it.write("b", [9, 9, 9])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.refresh()
            #expect(try await it.names(in: "") == it.remotePaths)
            #expect(it.remoteBytes("b") == (isOverwritten ? theirs : [9, 9, 9]))
            let beside = it.remotePaths.filter { $0 != "b" }.compactMap { it.remoteBytes($0) }
            #expect(beside == (isOverwritten ? [[9, 9, 9]] : []))
        }
    }

    @Test func `a request counts as not performed only when it can no longer be`() {
        let life = InFlightWindow.requestLifeMax
        let (one, other) = (InodeNumber(rawValue: 7), InodeNumber(rawValue: 8))
        var doubts = InFlightWindow(startedAt: .seconds(100))
        #expect(doubts.rest(of: one, at: .seconds(100)) == life)
        #expect(doubts.rest(of: one, at: .seconds(100) + life) == nil)
        doubts.noteLoss(of: one, at: .seconds(200))
        #expect(doubts.rest(of: one, at: .seconds(201)) == life - .seconds(1))
        #expect(doubts.rest(of: other, at: .seconds(201)) == nil)
        doubts.noteLoss(of: other, at: .seconds(200) + life)
        #expect(doubts.rest(of: one, at: .seconds(200) + life) == nil)
    }
}
