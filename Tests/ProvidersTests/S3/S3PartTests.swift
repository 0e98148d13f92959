import Engine
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// Goal: the parts of a large file have the size, and are sent side by side as many at a time, as
/// `docs/providers.md` says.
///
/// Method: limits as users have them; the store in memory keeps each part until no more come.
struct S3PartTests {
    private func write(_ size: UInt64, to name: String, _ provider: S3Provider) async throws {
        _ = try await provider.write(
            ObjectKey([try #require(FileName(name))]), from: SameBytes(size: size),
            attributes: ObjectAttributes(modified: Timestamp(seconds: 1_600_000_000), mode: 0o640),
            base: .absent, session: UntrackedUpload())
    }

    private func partSizes(_ store: TinyS3) -> [Int] {
        store.state.withLock { state in
            state.requests.filter { $0.url.contains("partNumber=") }.map { request in
                switch request.body {
                case .source(_, let range): range.count
                case .bytes(let bytes): bytes.count
                default: 0
                }
            }
        }.sorted()
    }

    @Test func `a file of 16 MiB is sent whole, a larger one in parts of 8 MiB`() async throws {
        let store = TinyS3()
        let provider = try CrowdedWire.provider(store)
        try await write(16 << 20, to: "small", provider)
        #expect(partSizes(store) == [])
        try await write(16 << 20 + 1, to: "large", provider)
        #expect(partSizes(store) == [1, 8 << 20, 8 << 20])
    }

    @Test func `sixteen parts of a file are sent at a time`() async throws {
        let wire = CrowdedWire(expected: 16) { request in
            request.method == .put && request.url.contains("partNumber=")
        }
        try await write(20 * 8 << 20, to: "large", try CrowdedWire.provider(wire))
        #expect(wire.crowd.largest == 16)
        #expect(partSizes(wire.store).count == 20)
    }
}
