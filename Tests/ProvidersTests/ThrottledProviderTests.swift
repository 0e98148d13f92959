import Engine
import ProviderFolder
import ProviderSupport
import Simulation
import Testing

@Suite struct ThrottledProviderTests {
    private let folder: TemporaryFolder
    private let clock = ClockAtOnce()
    private let key: ObjectKey
    private let attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644)

    init() throws {
        folder = try TemporaryFolder()
        key = ObjectKey([try #require(FileName("file"))])
    }

    private func provider(bytesPerSecond: UInt64?) async throws -> ThrottledProvider {
        ThrottledProvider(
            try await FolderProvider.connect(path: Array(folder.path.utf8)), clock: clock,
            latency: .milliseconds(20), bytesPerSecond: bytesPerSecond)
    }

    private func time(_ call: () async throws -> Void) async throws -> Duration {
        let start = clock.uptime
        try await call()
        return clock.uptime - start
    }

    @Test func `each call waits once`() async throws {
        let provider = try await provider(bytesPerSecond: nil)
        #expect(try await time { _ = try await provider.stat(.root) } == .milliseconds(20))
        #expect(
            try await time { _ = try await provider.entries(of: .root).next() } == .milliseconds(20)
        )
    }

    @Test func `a transfer takes its bytes by its rate`() async throws {
        let provider = try await provider(bytesPerSecond: 1 << 20)
        let source = ZeroSource(size: 3 << 20)
        let writing = try await time {
            _ = try await provider.write(
                key, from: source, attributes: attributes, base: .absent, session: UntrackedUpload()
            )
        }
        #expect(writing == .milliseconds(3_020))
        let etag = try #require(try await provider.stat(key).etag)
        let reading = try await time {
            try await provider.read(key, range: 0..<(2 << 20), etag: etag, into: IgnoringSink())
        }
        #expect(reading == .milliseconds(2_020))
    }

    @Test func `a provider that does not ask for the pace takes as long`() async throws {
        let inner = SimulatedProvider(clock: clock, random: SeededGenerator(seed: 1))
        let provider = ThrottledProvider(inner, clock: clock, bytesPerSecond: 1_000)
        let writing = try await time {
            _ = try await provider.write(
                key, from: ZeroSource(size: 10_000), attributes: attributes, base: .absent,
                session: UntrackedUpload())
        }
        #expect(writing >= .seconds(10))
    }
}

private struct ZeroSource: ByteSource {
    let size: UInt64

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return min(buffer.count, Int(size - offset))
    }
}

private struct IgnoringSink: ByteSink {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {}
}
