import Engine
import Synchronization
import Testing

@testable import ProviderS3

/// The first bytes that come with the metadata of an object.
@Suite struct S3ReadTests {
    private let store = TinyS3()
    private let provider: S3Provider
    private let key: ObjectKey

    init() throws {
        provider = try store.provider()
        key = ObjectKey([try #require(FileName("a"))])
        store.state.withLock { $0.objects["a"] = TinyS3.Object(etag: "1", bytes: [1, 2, 3]) }
    }

    /// Goal: files are shown that may not be read, and by stores that know no ranges.
    @Test(arguments: [403, 405, 416, 501])
    func `an object whose GET is refused is shown by a HEAD`(status: Int) async throws {
        store.state.withLock { $0.readingRefusal = status }
        let start = try await provider.stat(key, firstBytes: 100)
        #expect(start.object.size == 3 && start.object.etag == ETag("1"))
        #expect(start.bytes.isEmpty)
        #expect(store.asked.last == "HEAD /a")
    }

    @Test func `an object that can be read is not asked for twice`() async throws {
        let start = try await provider.stat(key, firstBytes: 100)
        #expect(start.object.size == 3 && start.bytes == [1, 2, 3])
        #expect(store.asked.filter { $0.hasSuffix(" /a") } == ["GET /a"])
    }
}
