import Engine
import Simulation
import Synchronization
import Testing

@Suite struct SimulatedProviderTests {
    private func key(_ name: String) throws -> ObjectKey {
        ObjectKey([try #require(FileName(name))])
    }

    /// Eight tasks change a few files of one faulty store; what they saw and when is the result.
    private func run(seed: UInt64) throws -> (log: [String], files: [String]) {
        let clock = SimulatedClock()
        let executor = SeededExecutor(seed: seed, clock: clock)
        let provider = SimulatedProvider(clock: clock, random: SeededGenerator(seed: seed))
        provider.setFaults(.all(0.1))
        let log = Log()
        try executor.run {
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<8 as Range<UInt8> {
                    group.addTask {
                        for round in 0..<10 as Range<UInt8> {
                            let outcome = await Self.change(provider, writer, round)
                            let line = "\(clock.uptime) \(writer) \(round) \(outcome)"
                            log.lines.withLock { $0.append(line) }
                        }
                    }
                }
            }
        }
        let files = provider.snapshot().map { "\($0.key) \($0.value)" }.sorted()
        return (log.lines.withLock { $0 }, files)
    }

    /// Writes a file of one byte, many times over, on whatever version is there.
    private static func change(
        _ provider: SimulatedProvider, _ writer: UInt8, _ round: UInt8
    ) async -> String {
        do {
            guard let name = FileName("file \(round % 3)") else { return "no name" }
            let found = try? await provider.stat(ObjectKey([name]))
            let bytes = [UInt8](repeating: writer &* 16 &+ round, count: 100_000)
            let object = try await provider.write(
                ObjectKey([name]), from: UniformSource(bytes: bytes),
                attributes: ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644),
                base: (found?.etag).map(BaseVersion.version) ?? .absent, session: UntrackedUpload())
            return "\(object.etag?.description ?? "no etag")"
        } catch {
            return "\(error.kind)"
        }
    }

    @Test func `a seed replays everything, another one does something else`() throws {
        let first = try run(seed: 7)
        let again = try run(seed: 7)
        let other = try run(seed: 8)
        #expect(first == again)
        #expect(first != other)
        #expect(first.log.contains { $0.contains("unreachable") })
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no version is ever torn, and each one is remembered`(seed: UInt64) throws {
        let clock = SimulatedClock()
        let executor = SeededExecutor(seed: seed, clock: clock)
        let provider = SimulatedProvider(clock: clock, random: SeededGenerator(seed: seed))
        provider.setFaults(.all(0.1))
        try executor.run {
            await withTaskGroup(of: Void.self) { group in
                for writer in 0..<4 as Range<UInt8> {
                    group.addTask { _ = await Self.change(provider, writer, 0) }
                }
            }
        }
        for key in provider.everyKey {
            for version in provider.versions(of: key) {
                #expect(version.bytes.count == 100_000)
                #expect(Set(version.bytes).count == 1)
            }
            #expect(
                provider.snapshot()[key] == provider.versions(of: key).last.map { .file($0.bytes) })
        }
    }

    @Test func `each fault is what it says`() async throws {
        let provider = SimulatedProvider(clock: ClockAtOnce(), random: SeededGenerator(seed: 1))
        let file = try provider.otherClientWrites(key("file"), Array(0..<100))
        let etag = try #require(file.etag)
        func kind(_ call: () async throws -> Void) async -> ProviderError.Kind? {
            do { try await call() } catch { return (error as? ProviderError)?.kind }
            return nil
        }
        provider.setFaults(SimulatedProviderFaults(.damagedRead, 1))
        let sink = CollectingSink()
        #expect(
            await kind {
                try await provider.read(key("file"), range: 0..<100, etag: etag, into: sink)
            } == .corrupt)
        #expect(sink.bytes.withLock { $0 } != Array(0..<100))

        provider.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
        #expect(
            await kind { try await provider.delete(key("file"), kind: .file, etag: etag) }
                == .unreachable)
        #expect(provider.snapshot().isEmpty)

        provider.setFaults(SimulatedProviderFaults())
        _ = try await provider.entries(of: .root).next()
        try provider.otherClientMakesDirectory(key("new"))
        provider.setFaults(SimulatedProviderFaults(.staleListing, 1))
        #expect(try await provider.entries(of: .root).next().objects.isEmpty)
        provider.setFaults(SimulatedProviderFaults())
        #expect(try await provider.entries(of: .root).next().objects.count == 1)

        provider.setFaults(SimulatedProviderFaults(.busy, 1))
        #expect(await kind { _ = try await provider.stat(.root) } == .busy)
        provider.setFaults(SimulatedProviderFaults())
        provider.setReachable(false)
        #expect(await kind { _ = try await provider.stat(.root) } == .unreachable)
    }

    @Test func `another client changes the tree at once`() throws {
        let provider = SimulatedProvider(clock: ClockAtOnce(), random: SeededGenerator(seed: 1))
        try provider.otherClientMakesDirectory(key("directory"))
        let inner = try key("directory").appending(#require(FileName("file")))
        try provider.otherClientWrites(inner, [1])
        try provider.otherClientWrites(inner, [2])
        try provider.otherClientRenames(key("directory"), to: key("other"))
        let moved = try key("other").appending(#require(FileName("file")))
        #expect(provider.snapshot() == [try key("other"): .directory, moved: .file([2])])
        #expect(provider.versions(of: inner).map(\.bytes) == [[1], [2]])
        #expect(provider.versions(of: moved).map(\.bytes) == [[2]])
        try provider.otherClientDeletes(moved)
        try provider.otherClientDeletes(key("other"))
        #expect(provider.snapshot().isEmpty)
    }
}

private struct UniformSource: ByteSource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let rest = bytes[Int(offset)...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

private final class CollectingSink: ByteSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws {
        bytes.withLock { $0 += Array(piece) }
    }
}

private final class Log: Sendable {
    let lines = Mutex<[String]>([])
}
