import Engine
import Synchronization
import Testing

@testable import ProviderS3

/// Objects of a test of the store that a daemon left there, as it was killed.
struct S3LeftProbeTests {
    private static let name = ".apus-probe-0123456789abcdef"

    private static func object(_ modified: String? = nil) -> TinyS3.Object {
        TinyS3.Object(etag: "1", bytes: [1], modified: modified)
    }

    /// Goal: those of a mount that tests the store at this moment stay.
    @Test func `are removed ten minutes later by the next test, by the store's clock`() async throws
    {
        let store = TinyS3()
        let stay = [
            "p/\(Self.name)-put": "2020-09-13T12:16:41.000Z",
            "p/.apus-probe-short": "2019-01-01T00:00:00.000Z",
            "p/file": "2019-01-01T00:00:00.000Z", "\(Self.name)-put": "2019-01-01T00:00:00.000Z",
            "p/d/\(Self.name)-put": "2019-01-01T00:00:00.000Z",
        ]
        let go = [
            "p/\(Self.name)-copy": "2020-09-13T12:16:39.000Z",
            "p/\(Self.name)": "2019-01-01T00:00:00.000Z",
        ]
        store.state.withLock { state in
            state.modified = "2020-09-13T12:26:40.000Z"
            for (key, modified) in stay.merging(go, uniquingKeysWith: { $1 }) {
                state.objects[key] = Self.object(modified)
            }
        }
        let provider = try store.provider(prefix: "p/")
        provider.probe.known.withLock { $0 = nil }
        _ = try await provider.probe.conditions()
        #expect(store.state.withLock { Set($0.objects.keys) } == Set(stay.keys))
    }

    /// Method: more than a listing has that only looks whether something is there.
    @Test func `are removed with their directory, and not if something else is in it`() async throws
    {
        let directory = ObjectKey([try #require(FileName("d"))])
        for isEmpty in [true, false] {
            let store = TinyS3()
            store.state.withLock { state in
                state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
                for number in 0..<50 { state.objects["d/\(Self.name)-\(number)"] = Self.object() }
                if !isEmpty { state.objects["d/z"] = Self.object() }
            }
            let provider = try store.provider()
            if isEmpty {
                try await provider.delete(directory, kind: .directory, etag: nil)
                #expect(store.state.withLock { $0.objects.isEmpty })
            } else {
                let error = await #expect(throws: ProviderError.self) {
                    try await provider.delete(directory, kind: .directory, etag: nil)
                }
                #expect(error?.kind == .notEmpty)
                #expect(store.state.withLock { $0.objects.count } == 52)
            }
        }
    }
}
