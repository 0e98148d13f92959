import Simulation
import Synchronization
import TestBytes
import Testing

@testable import Engine

/// Goal: readers get their bytes early, and none gets bytes of another version.
@Suite("Downloads") struct DownloadTests {
    private static let request = 128 << 10

    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(20)...(.milliseconds(20))
        settings.provider.pieceBytes = (64 << 10)...(64 << 10)
        settings.provider.pieceDelay = .milliseconds(1)...(.milliseconds(1))
        settings.stepsMax = 1_000_000
        return settings
    }

    private static func run(
        _ bytes: [UInt8], seed: UInt64 = 1, settings: SimulatedMountSettings = settings,
        _ body: @escaping @Sendable (Scenario, InodeNumber) async throws -> Void
    ) throws {
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), bytes)
        } _: { it in
            _ = try await it.names(in: "")
            let inode = try await it.openToRead("file")
            defer { it.engine.release(inode, access: .read) }
            try await body(it, inode)
        }
    }

    @Test func `a random reader fetches 128 KiB for each read, and nothing ahead`() throws {
        let bytes = TestBytes.random(64 << 20)
        try Self.run(bytes) { it, inode in
            try await it.wait(.seconds(5))
            #expect(it.remote.bytesSent <= 1 << 20, "the open")
            for index in 0..<20 {
                let before = it.remote.bytesSent
                let offset = ((index * 7_919 + 401) % 1_000) << 16
                let part = try await it.part(of: inode, at: offset, count: 4_096)
                #expect(part == Array(bytes[offset..<offset + 4_096]))
                try await it.wait(.seconds(5))
                #expect(it.remote.bytesSent - before <= 128 << 10)
            }
        }
    }

    /// Goal: fewer bytes with a read do not mean more requests for a long one.
    @Test func `a long read of a random reader takes one request`() throws {
        let bytes = TestBytes.random(64 << 20)
        try Self.run(bytes) { it, inode in
            for index in 0..<40 {
                let count = index < 30 ? 4_096 : 512 << 10
                let offset = ((index * 7_919 + 401) % 1_000) << 16
                let start = it.mount.clock.uptime
                let part = try await it.part(of: inode, at: offset, count: count)
                #expect(part == Array(bytes[offset..<offset + count]))
                #expect(it.mount.clock.uptime - start <= .milliseconds(20 + 2 * count >> 16))
                try await it.wait(.seconds(1))
            }
        }
    }

    @Test func `a small file comes as a whole with its first bytes`() throws {
        let bytes = TestBytes.random(3 << 20)
        try Self.run(bytes) { it, inode in
            let part = try await it.part(of: inode, at: 1 << 20, count: 9)
            #expect(part == Array(bytes[1 << 20..<(1 << 20) + 9]))
            try await it.wait(.seconds(2))
            it.remote.setReachable(false)
            let whole = try await it.part(of: inode, at: 0, count: bytes.count)
            #expect(whole == bytes)
            #expect(it.remote.bytesSent == UInt64(bytes.count))
        }
    }

    @Test func `several ranges are fetched ahead of a reader in order, each byte once`() throws {
        let bytes = TestBytes.random(32 << 20)
        try Self.run(bytes) { it, inode in
            _ = it.remote.takeReadsMax()
            try await it.readAll(inode, expecting: bytes, request: Self.request)
            let most = it.remote.takeReadsMax()
            #expect((6...28).contains(most), "\(most) at a time")
            #expect(it.remote.bytesSent == UInt64(bytes.count))
        }
    }

    @Test func `readers share the ranges that are fetched side by side`() throws {
        let files = (0..<4 as Range<UInt64>).map { TestBytes.random(16 << 20, seed: $0) }
        try Scenario.run(settings: Self.settings) { remote in
            for (index, bytes) in files.enumerated() {
                try remote.otherClientWrites(Scenario.key("f\(index)"), bytes)
            }
        } _: { it in
            _ = try await it.names(in: "")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, bytes) in files.enumerated() {
                    group.addTask {
                        let inode = try await it.openToRead("f\(index)")
                        defer { it.engine.release(inode, access: .read) }
                        try await it.readAll(inode, expecting: bytes, request: Self.request)
                    }
                }
                try await group.waitForAll()
            }
            #expect(it.remote.takeReadsMax() <= 32 + 2 * files.count)
        }
    }

    @Test func `a request is answered before the range with its bytes has arrived`() throws {
        var settings = Self.settings
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        let bytes = TestBytes.random(1 << 20)
        try Self.run(bytes, settings: settings) { it, inode in
            // The range has sixteen pieces.
            #expect(it.mount.clock.uptime < .seconds(2))
            let part = try await it.part(of: inode, at: 200 << 10, count: 9)
            #expect(part == Array(bytes[200 << 10..<(200 << 10) + 9]))
            #expect(it.mount.clock.uptime < .seconds(5))
        }
    }

    @Test func `bytes whose version is only confirmed at the end count then`() throws {
        var settings = Self.settings
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        settings.provider.confirmsVersions = false
        let bytes = TestBytes.random(1 << 20)
        try Self.run(bytes, settings: settings) { it, inode in
            #expect(it.mount.clock.uptime > .seconds(15))
            let part = try await it.part(of: inode, at: 9, count: 9)
            #expect(part == Array(bytes[9..<18]))
        }
    }

    @Test func `bytes whose version is confirmed after they came count then`() throws {
        var settings = Self.settings
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        settings.provider.confirmsVersions = false
        settings.provider.confirmsParts = true
        let bytes = TestBytes.random(1 << 20)
        try Self.run(bytes, settings: settings) { it, inode in
            #expect(it.mount.clock.uptime < .seconds(3))
            let part = try await it.part(of: inode, at: 200 << 10, count: 9)
            #expect(part == Array(bytes[200 << 10..<(200 << 10) + 9]))
            // A look at each of four parts of sixteen.
            #expect(it.mount.clock.uptime < .seconds(10))
        }
    }

    /// Goal: no mix of two versions (I5).
    @Test(arguments: [true, false], [false, true])
    func `a file replaced in the middle of a range shows one version only`(
        confirms: Bool, parts: Bool
    ) throws {
        var settings = Self.settings
        settings.provider.pieceDelay = .milliseconds(50)...(.milliseconds(50))
        settings.provider.confirmsVersions = confirms
        settings.provider.confirmsParts = parts
        let bytes = TestBytes.random(8 << 20)
        try Self.run(bytes, settings: settings) { it, inode in
            let other = TestBytes.random(8 << 20, seed: 2)
            var (whole, refused) = (0, 0)
            for offset in stride(from: 0, to: bytes.count, by: Self.request) {
                if offset == 1 << 20 {
                    try it.remote.otherClientWrites(Scenario.key("file"), other)
                }
                do {
                    let part = try await it.part(of: inode, at: offset, count: Self.request)
                    #expect(part == Array(bytes[offset..<offset + Self.request]))
                    whole += 1
                } catch {
                    refused += 1
                }
            }
            #expect(whole >= 8 && refused > 0)
            #expect(try await it.read("file") == other)
        }
    }

    @Test func `the bytes that came before a failure are not fetched again`() throws {
        var settings = Self.settings
        settings.provider.pieceDelay = .milliseconds(50)...(.milliseconds(50))
        let bytes = TestBytes.random(1 << 20)
        try Self.run(bytes, settings: settings) { it, inode in
            try await it.wait(.milliseconds(300))
            it.remote.setReachable(false)
            try await it.wait(.milliseconds(200))
            let before = it.remote.bytesSent
            #expect(before > 128 << 10)
            it.remote.setReachable(true)
            try await it.awaitReach()
            let part = try await it.part(of: inode, at: 0, count: bytes.count)
            #expect(part == bytes)
            #expect(it.remote.bytesSent == UInt64(bytes.count))
        }
    }

    /// Goal: a store that keeps one connection hanging does not keep later readers from trying again.
    @Test func `a range is requested again once all who waited for it were interrupted`() throws {
        let bytes = TestBytes.random(8 << 20)
        try Self.run(bytes) { it, inode in
            it.remote.stand(true, attempts: "read")
            await it.interrupting(after: .seconds(2)) {
                _ = try? await it.part(of: inode, at: 4 << 20, count: 9)
            }
            it.remote.stand(false)
            let start = it.mount.clock.uptime
            let part = try await it.part(of: inode, at: 4 << 20, count: 9)
            #expect(part == Array(bytes[4 << 20..<(4 << 20) + 9]))
            #expect(it.mount.clock.uptime - start < .seconds(1))
        }
    }

    /// Goal: a program that handles signals at short intervals gets on, as its requests are repeated.
    @Test func `a range goes on for a reader that is interrupted again and again`() throws {
        let bytes = TestBytes.random(8 << 20)
        try Self.run(bytes) { it, inode in
            try await it.wait(.seconds(1))
            it.remote.setDelay(.milliseconds(500), attempts: "read")
            let before = it.remote.bytesSent
            for _ in 0..<6 {
                await it.interrupting(after: .milliseconds(100)) {
                    _ = try? await it.part(of: inode, at: (4 << 20) + 9, count: 9)
                }
            }
            let start = it.mount.clock.uptime
            let part = try await it.part(of: inode, at: (4 << 20) + 9, count: 9)
            #expect(part == Array(bytes[(4 << 20) + 9..<(4 << 20) + 18]))
            #expect(it.mount.clock.uptime - start < .milliseconds(100))
            #expect(it.remote.bytesSent - before <= 128 << 10)
        }
    }

    @Test func `a range goes on for a reader that was not interrupted`() throws {
        let bytes = TestBytes.random(8 << 20)
        try Self.run(bytes) { it, inode in
            try await it.wait(.seconds(1))
            it.remote.setDelay(.seconds(5), attempts: "read")
            let before = it.remote.bytesSent
            let start = it.mount.clock.uptime
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    let part = try await it.part(of: inode, at: (4 << 20) + 9, count: 9)
                    #expect(part == Array(bytes[(4 << 20) + 9..<(4 << 20) + 18]))
                }
                group.addTask {
                    await it.interrupting(after: .seconds(1)) {
                        _ = try? await it.part(of: inode, at: (4 << 20) + 9, count: 9)
                    }
                }
                try await group.waitForAll()
            }
            #expect(it.mount.clock.uptime - start < .seconds(6))
            #expect(it.remote.bytesSent - before <= 128 << 10)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `a request whose bytes came does not fail with the rest of its range`(
        seed: UInt64
    ) throws {
        let bytes = TestBytes.random(8 << 20)
        try Self.run(bytes, seed: seed) { it, inode in
            // Half of each range comes, and the error with the last of its bytes.
            it.remote.setFaults(SimulatedProviderFaults(.shortRead, 1))
            let (offset, count) = (4 << 20, 64 << 10)
            let start = it.mount.clock.uptime
            let part = try await it.part(of: inode, at: offset, count: count)
            #expect(part == Array(bytes[offset..<offset + count]))
            #expect(it.mount.clock.uptime - start < .milliseconds(100), "without a second attempt")
        }
    }

    @Test func `a closed file is not fetched any further`() throws {
        let bytes = TestBytes.random(64 << 20)
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), bytes)
        } _: { it in
            let inode = try await it.openToRead("file")
            for offset in stride(from: 0, to: 4 << 20, by: Self.request) {
                _ = try await it.part(of: inode, at: offset, count: Self.request)
            }
            it.engine.release(inode, access: .read)
            let before = it.remote.bytesSent
            try await it.wait(.seconds(10))
            // The bytes under way: two pieces of a transfer for each range.
            #expect(it.remote.bytesSent - before <= 2 * 28 * (64 << 10))
        }
    }

    @Test func `nothing more is fetched where a reader has gone elsewhere`() throws {
        let bytes = TestBytes.random(128 << 20)
        var settings = Self.settings
        settings.provider.pieceDelay = .milliseconds(20)...(.milliseconds(20))
        try Self.run(bytes, settings: settings) { it, inode in
            for offset in stride(from: 0, to: 2 << 20, by: Self.request) {
                _ = try await it.part(of: inode, at: offset, count: Self.request)
            }
            try await it.wait(.milliseconds(600))
            let before = it.remote.bytesSent
            let offset = 100 << 20
            let part = try await it.part(of: inode, at: offset, count: 9)
            #expect(part == Array(bytes[offset..<offset + 9]))
            try await it.wait(.seconds(10))
            #expect(it.remote.bytesSent - before <= 24 << 20)
        }
    }
}

extension Scenario {
    /// Performs `work` in a task that is cancelled after `delay`.
    fileprivate func interrupting(
        after delay: Duration, _ work: @escaping @Sendable () async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(operation: work)
            try? await wait(delay)
            group.cancelAll()
        }
    }

    fileprivate func openToRead(_ path: String) async throws -> InodeNumber {
        let inode = try await find(path)
        try await engine.retrying { () throws(Blocked) in
            try engine.open(inode, access: .read, truncating: false)
        }
        return inode
    }

    fileprivate func part(of inode: InodeNumber, at offset: Int, count: Int) async throws -> [UInt8]
    {
        try await engine.retrying { () throws(Blocked) in
            let range = try engine.read(inode, at: UInt64(offset), length: count)
            return try onDisk(
                "read the content", do: range.file.read(range.count, at: UInt64(offset)))
        }
    }

    fileprivate func readAll(
        _ inode: InodeNumber, expecting bytes: [UInt8], request: Int
    ) async throws {
        for offset in stride(from: 0, to: bytes.count, by: request) {
            let end = min(offset + request, bytes.count)
            let part = try await part(of: inode, at: offset, count: end - offset)
            #expect(part == Array(bytes[offset..<end]))
        }
    }
}
