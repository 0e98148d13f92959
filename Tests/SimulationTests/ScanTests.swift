import Simulation
import TestBytes
import Testing

@testable import Engine

/// Goal: a program that looks into many files has the bytes fetched that it reads, without a request for
/// each small read.
@Suite("Scans") struct ScanTests {
    private static let roundTrip = Duration.milliseconds(20)
    /// The bytes that come with the open of a file.
    private static let opened = 16 << 10

    private static func run(
        size: Int = 4 << 20, cacheBytesMax: UInt64 = 1 << 30,
        _ body: @escaping @Sendable (Scan) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = cacheBytesMax
        settings.provider.latency = roundTrip...roundTrip
        settings.stepsMax = 1_000_000
        let bytes = TestBytes.random(size)
        try Scenario.run(seed: 1, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), bytes)
        } _: { it in
            _ = try await it.names(in: "")
            let inode = try await it.find("file")
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .scan, truncating: false)
            }
            defer { it.engine.release(inode, access: .scan) }
            let opened = min(Self.opened, size, Int(cacheBytesMax))
            #expect(it.remote.bytesSent == opened)
            try await body(Scan(it: it, inode: inode, bytes: bytes))
        }
    }

    private struct Scan {
        let it: Scenario
        let inode: InodeNumber
        let bytes: [UInt8]

        /// Reads a range by requests of a size, one after the other.
        func read(_ range: Range<Int>, by size: Int) async throws {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: size) {
                let end = min(offset + size, range.upperBound)
                let part = try await it.engine.retrying { () throws(Blocked) in
                    let part = try it.engine.read(
                        inode, at: UInt64(offset), length: end - offset, access: .scan)
                    return try onDisk(
                        "read the content", do: part.file.read(part.count, at: UInt64(offset)))
                }
                #expect(part == Array(bytes[offset..<end]))
            }
        }

        /// Returns the number of bytes that the remote has sent by the time nothing is fetched any more.
        func sent() async throws -> Int {
            try await it.wait(.seconds(5))
            return Int(it.remote.bytesSent)
        }
    }

    @Test(arguments: [4 << 10, 64 << 10])
    func `fetch the beginning that is read, and not a byte more`(by size: Int) throws {
        try Self.run { scan in
            try await scan.read(0..<64 << 10, by: size)
            #expect(try await scan.sent() == 64 << 10)
        }
    }

    @Test func `fetch a range somewhere, and not a byte more`() throws {
        try Self.run { scan in
            try await scan.read(0..<20_000, by: 20_000)
            #expect(try await scan.sent() == 20_000)
        }
        try Self.run { scan in
            try await scan.read(3_000_001..<3_000_201, by: 200)
            #expect(try await scan.sent() == Self.opened + 200)
            try await scan.read((4 << 20) - 8_192..<4 << 20, by: 8_192)
            #expect(try await scan.sent() == Self.opened + 200 + 8_192)
        }
    }

    @Test func `fetch a file that is read by small pieces with few requests, each byte once`()
        throws
    {
        try Self.run { scan in
            let begin = scan.it.engine.clock.uptime
            try await scan.read(0..<4 << 20, by: 4 << 10)
            // 16, 32 and 64 KiB, and then 128 KiB at a time.
            let requestsMax = 3 + (4 << 20) / (128 << 10)
            // As much again for the simulated line and disk; a request for each read would take 1,024.
            let duration = scan.it.engine.clock.uptime - begin
            #expect(duration < Self.roundTrip * requestsMax * 2)
            #expect(try await scan.sent() == 4 << 20)
        }
    }

    @Test func `a read of more bytes than the cache may have gets them all`() throws {
        try Self.run(size: 4_239, cacheBytesMax: 4_096) { scan in
            // Bytes in excess of the bound are dropped each second.
            try await scan.it.wait(.seconds(3))
            let begin = scan.it.engine.clock.uptime
            try await scan.read(0..<4_239, by: 4_239)
            #expect(scan.it.engine.clock.uptime - begin < .seconds(1))
        }
    }
}
