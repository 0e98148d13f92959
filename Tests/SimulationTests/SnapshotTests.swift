import Simulation
import Testing

@testable import Engine

/// Changes of a file during its upload (I3).
@Suite struct SnapshotTests {
    private static let piece = 4_096
    private static let first = [UInt8](repeating: 1, count: 20 * piece)

    /// A slow upload, from a disk that cannot share bytes.
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.sharesBytes = false
        settings.engine.snapshotPieceBytes = UInt64(piece)
        settings.provider.pieceBytes = 1_000...1_000
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        return settings
    }

    /// Runs `change` in the middle of an upload, and expects that this sends the former version all
    /// the same, and a later one the new version.
    private static func expectBoth(
        _ settings: SimulatedMountSettings = settings, copied: UInt64,
        _ change: @escaping @Sendable (Scenario, InodeNumber, inout [UInt8]) async throws -> Void
    ) throws {
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", first)
            try await it.wait(.seconds(4))
            let inode = try await it.find("movie")
            #expect(try it.engine.itemState(of: inode) == .uploading)
            var last = first
            try await it.open(inode)
            try await change(it, inode, &last)
            #expect(try it.copiedBytes == copied)
            #expect(try await it.read("movie") == last)
            try await it.wait(.seconds(8))
            #expect(it.remoteBytes("movie") == first)
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            #expect(it.remoteBytes("movie") == last)
            #expect(try it.mount.disk.files(below: StateFiles.frozenFolder) == [])
        }
    }

    @Test func `a write copies the pieces that it changes`() throws {
        try Self.expectBoth(copied: UInt64(2 * Self.piece)) { it, inode, bytes in
            try await it.write([2, 3], at: UInt64(15 * Self.piece - 1), of: inode)
            try await it.write([4], at: UInt64(15 * Self.piece + 7), of: inode)
            bytes.replaceSubrange(15 * Self.piece - 1...15 * Self.piece, with: [2, 3])
            bytes[15 * Self.piece + 7] = 4
        }
    }

    @Test func `an append copies nothing`() throws {
        try Self.expectBoth(copied: 0) { it, inode, bytes in
            try await it.write([2, 3], at: UInt64(bytes.count), of: inode)
            bytes += [2, 3]
        }
    }

    @Test func `a truncation copies the bytes that it removes`() throws {
        try Self.expectBoth(copied: UInt64(3 * Self.piece)) { it, inode, bytes in
            bytes.removeLast(2 * Self.piece + 5)
            try await it.truncate(inode, to: UInt64(bytes.count))
            try await it.write([7], at: UInt64(Self.first.count), of: inode)
            bytes += [UInt8](repeating: 0, count: Self.first.count - bytes.count) + [7]
        }
    }

    @Test func `a disk that shares bytes makes a clone at once`() throws {
        var settings = Self.settings
        settings.sharesBytes = true
        try Self.expectBoth(settings, copied: UInt64(Self.first.count)) { it, inode, bytes in
            #expect(try it.copiedBytes == UInt64(Self.first.count))
            try await it.write([2], at: 0, of: inode)
            bytes[0] = 2
        }
    }

    @Test func `a truncation by more than its bound abandons the upload`() throws {
        var settings = Self.settings
        settings.engine.snapshotCutBytesMax = 10_000
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.first)
            try await it.wait(.seconds(4))
            try await it.write("movie", [1, 2, 3])
            #expect(try it.copiedBytes == 0)
            let inode = try await it.find("movie")
            for _ in 0..<90 {
                try await it.wait(.milliseconds(100))
                let failure = try it.engine.store.read { try $0.pending(inode)?.failure }
                #expect(failure?.isFinal != true, "fsync would report it")
            }
            #expect(try await it.rest(within: .seconds(1)))
            #expect(it.remote.versions(of: Scenario.key("movie")).map(\.bytes) == [[1, 2, 3]])
        }
    }

    /// Goal: an upload that has ended all the same, without an answer, does not pass for another client's.
    ///
    /// Method: the truncation comes while the answer is on its way, or before.
    @Test(arguments: 1...20)
    func `a truncation during an upload whose answer is lost makes no conflict`(step: Int) throws {
        var settings = Self.settings
        settings.engine.snapshotCutBytesMax = 1_000
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", [UInt8](repeating: 1, count: 5_000))
            #expect(try await it.rest())
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            try await it.write("movie", [UInt8](repeating: 2, count: 5_000))
            try await it.wait(.milliseconds(500 + 50 * step))
            try await it.write("movie", [1, 2, 3])
            try await it.wait(.milliseconds(500))
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(it.remotePaths == ["movie"])
            #expect(it.remoteBytes("movie")?.count == 3)
        }
    }

    @Test func `a full disk fails the upload, and not the write`() throws {
        var settings = Self.settings
        settings.diskBytes = UInt64(Self.first.count + Self.piece)
        settings.isDiskQuota = true
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.first)
            try await it.wait(.seconds(4))
            let inode = try await it.find("movie")
            try await it.open(inode)
            var last = Self.first
            for index in 0..<5 {
                try await it.write([2], at: UInt64(index * Self.piece), of: inode)
                last[index * Self.piece] = 2
            }
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            #expect(it.remote.versions(of: Scenario.key("movie")).map(\.bytes) == [last])
        }
    }

    /// Goal: the piece that several writers change is copied before the first of them.
    ///
    /// Method: the seed decides who runs between the claim, the copy and the writes.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `writers of one piece wait for its copy`(seed: UInt64) throws {
        try Scenario.run(seed: seed, settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.first)
            try await it.wait(.seconds(4))
            let inode = try await it.find("movie")
            try await it.open(inode)
            await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<12 {
                    group.addTask {
                        let offset = UInt64(10 * Self.piece + index * 1_000)
                        try await it.write(
                            [UInt8](repeating: 2, count: 1_000), at: offset, of: inode)
                    }
                }
            }
            var last = Self.first
            last.write([UInt8](repeating: 2, count: 12_000), at: 10 * Self.piece)
            it.engine.release(inode, access: .write)
            #expect(try await it.rest())
            #expect(
                it.remote.versions(of: Scenario.key("movie")).map(\.bytes) == [Self.first, last])
        }
    }

    @Test func `a kill during a copy leaves nothing of it`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.first)
            try await it.wait(.seconds(4))
            let inode = try await it.find("movie")
            try await it.open(inode)
            try await it.write([2], at: 0, of: inode)
            #expect(try it.copiedBytes == UInt64(Self.piece))
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.copiedBytes == 0)
            var last = Self.first
            last[0] = 2
            #expect(try await it.rest())
            #expect(it.remoteBytes("movie") == last)
        }
    }
}

extension Scenario {
    fileprivate func truncate(_ inode: InodeNumber, to size: UInt64) async throws {
        var change = AttributeChange()
        change.size = size
        _ = try await engine.retrying { () throws(Blocked) in
            try engine.setAttributes(of: inode, to: change)
        }
    }

    /// The bytes on the disk that belong to snapshots.
    fileprivate var copiedBytes: UInt64 {
        get throws {
            try mount.disk.files(below: StateFiles.frozenFolder)
                .reduce(0) { try $0 + mount.disk.open($1).status().allocatedBytes }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func write(_ bytes: [UInt8], at offset: Int) {
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
}
