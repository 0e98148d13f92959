import Simulation
import Testing

@testable import Engine

/// Uploads of a file that stays open for writing.
@Suite("A file held open for writing") struct LongWriterUploadTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.sharesBytes = false
        settings.provider.pieceBytes = 1_000...1_000
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        return settings
    }

    /// Creates a file of 100,000 bytes, whose upload takes 10 s, and writes to it every second.
    ///
    /// - Returns: Its number of versions on the remote after a while.
    private static func versions(
        _ settings: SimulatedMountSettings, after seconds: Int,
        then body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
    ) throws {
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("log", [UInt8](repeating: 1, count: 100_000))
            #expect(try await it.rest())
            let inode = try await it.find("log")
            try await it.open(inode)
            for second in 0..<seconds {
                try await it.write([UInt8(second % 256)], at: UInt64(second), of: inode)
                try await it.wait(.seconds(1))
            }
            try await body(it, inode)
        }
    }

    private static func count(_ it: Scenario) -> Int {
        it.remote.versions(of: Scenario.key("log")).count
    }

    @Test func `is uploaded for at most a tenth of the time`() throws {
        try Self.versions(Self.settings, after: 1_000) { it, inode in
            // An upload of 10 s each 100 s, after the one before.
            #expect((9...11).contains(Self.count(it) - 1), "\(Self.count(it))")
            let item = try it.engine.item(inode)
            #expect(!item.awaitsPause)
        }
    }

    @Test func `waits for a pause if it is large and the disk cannot share bytes`() throws {
        var settings = Self.settings
        settings.engine.longWriterBytesMax = 99_999
        try Self.versions(settings, after: 200) { it, inode in
            #expect(Self.count(it) == 1)
            let item = try it.engine.item(inode)
            #expect(item.awaitsPause)
            #expect(item.state == .dirty)
            try await it.wait(.seconds(20))
            #expect(Self.count(it) == 2)
            let later = try it.engine.item(inode)
            #expect(!later.awaitsPause)
        }
    }

    @Test func `waits for no pause if the disk can share bytes`() throws {
        var settings = Self.settings
        settings.engine.longWriterBytesMax = 0
        settings.sharesBytes = true
        try Self.versions(settings, after: 60) { it, inode in #expect(Self.count(it) == 2) }
    }

    @Test func `is uploaded when it is closed`() throws {
        var settings = Self.settings
        settings.engine.longWriterBytesMax = 0
        try Self.versions(settings, after: 60) { it, inode in
            it.engine.release(inode, access: .write)
            let isSent = try await it.rest(within: .seconds(15))
            #expect(isSent)
            #expect(Self.count(it) == 2)
        }
    }

    @Test func `is uploaded at once if a user asks for it`() throws {
        var settings = Self.settings
        settings.engine.longWriterBytesMax = 0
        try Self.versions(settings, after: 60) { it, inode in
            try it.engine.hasten(below: [.root])
            for second in 0..<15 {
                try await it.write([7], at: UInt64(second), of: inode)
                try await it.wait(.seconds(1))
            }
            #expect(Self.count(it) == 2)
        }
    }

    /// Goal: a sync does not wait for what is written after its begin.
    @Test func `is uploaded once for a sync, however long it is written`() throws {
        try Self.versions(Self.settings, after: 5) { it, inode in
            let request = try it.engine.hasten(below: [.root])
            #expect(request.inodes == [.root])
            var seconds = 0
            while try !Self.isSettled(it, for: request), seconds < 60 {
                try await it.write([7], at: UInt64(10 + seconds), of: inode)
                try await it.wait(.seconds(1))
                seconds += 1
            }
            #expect((9...15).contains(seconds), "an upload takes 10 s, not \(seconds)")
            #expect(try !Self.isSettled(it), "more was written since")
            let bytes = try #require(it.remoteBytes("log"))
            #expect(Array(bytes.prefix(6)) == [0, 1, 2, 3, 4, 1])
            let later = try it.engine.hasten(below: [.root])
            #expect(try !Self.isSettled(it, for: later))
        }
    }

    /// Its mode is sent without its bytes, although a program has it open.
    @Test func `waits for its close only, once its bytes and attributes are on the remote`() throws
    {
        try Scenario.run { it in
            try await it.write("log", [1, 2])
            #expect(try await it.rest())
            let inode = try await it.find("log")
            try await it.open(inode)
            try await it.write([3], at: 0, of: inode)
            #expect(try !Self.isSent(inode, it))
            try it.engine.hasten(below: [.root])
            try await it.wait(.seconds(5))
            #expect(try Self.isSent(inode, it))
            #expect(Self.count(it) == 2)

            var change = AttributeChange()
            change.mode = 0o600
            _ = try it.engine.setAttributes(of: inode, to: change)
            #expect(try !Self.isSent(inode, it))
            try it.engine.hasten(below: [.root])
            try await it.wait(.seconds(5))
            #expect(try Self.isSent(inode, it))
            #expect(it.remote.attributes()[Scenario.key("log")]?.mode == 0o600)
            #expect(try it.engine.item(inode).state == .dirty)

            change.mode = 0o640
            _ = try it.engine.setAttributes(of: inode, to: change)
            try await it.wait(.seconds(60))
            #expect(try Self.isSent(inode, it), "without being asked for")
            #expect(it.remote.attributes()[Scenario.key("log")]?.mode == 0o640)

            // Another client's change is applied after the close.
            try it.remote.otherClientWrites(Scenario.key("log"), [9])
            try await it.refresh()
            try await it.wait(.seconds(5))
            #expect(try Self.isSettled(it))
            #expect(try !it.engine.item(inode).isOpenAndSent)
            change.mode = 0o644
            _ = try it.engine.setAttributes(of: inode, to: change)
            #expect(try !Self.isSettled(it))
        }
    }

    @Test func `waits for its close before its mode is sent, once its directory is gone`() throws {
        try Scenario.run { it in
            try await it.makeDirectory("d")
            try await it.write("d/log", [1])
            #expect(try await it.rest())
            let inode = try await it.find("d/log")
            try await it.open(inode)
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            try await it.refresh()
            try await it.wait(.seconds(5))
            var change = AttributeChange()
            change.mode = 0o600
            _ = try it.engine.setAttributes(of: inode, to: change)
            for _ in 0..<60 {
                try it.engine.hasten(below: [.root])
                try await it.wait(.seconds(1))
                #expect(try it.engine.item(inode).failure == nil)
            }
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            #expect(it.remoteBytes("d/log") == [1])
            #expect(it.remote.attributes()[Scenario.key("d/log")]?.mode == 0o600)
        }
    }

    /// Returns whether nothing of a file, the only changed one, is left to be sent before its close.
    private static func isSent(_ inode: InodeNumber, _ it: Scenario) throws -> Bool {
        let item = try it.engine.item(inode)
        let pending = try it.engine.status(below: .root, limit: 1).pending
        #expect(item.isOpenAndSent == pending.isSettled)
        #expect(pending.bytes == (pending.isSettled ? 0 : item.size))
        return pending.isSettled
    }

    private static func isSettled(
        _ it: Scenario, for request: SyncRequest? = nil
    ) throws -> Bool {
        try it.engine.status(below: .root, limit: 1, for: request).pending.isSettled
    }
}
