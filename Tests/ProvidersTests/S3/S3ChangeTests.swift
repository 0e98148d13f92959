import Engine
import Synchronization
import Testing

@testable import Providers

/// What another client does at the moment of a change of ours.
@Suite struct S3ChangeTests {
    private static let foreign = TinyS3.Object(etag: "foreign", bytes: [1, 2])
    private static let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000), mode: 0o640)

    private func key(_ name: String) throws -> ObjectKey {
        ObjectKey([try #require(FileName(name))])
    }

    /// A bucket that holds `a`, and in which `a` or `b` is replaced right after it was copied.
    private func store(replacing key: String?) -> TinyS3 {
        let store = TinyS3 { operation, state in
            if let key, operation == "copy" { state.objects[key] = Self.foreign }
        }
        store.state.withLock { $0.objects["a"] = TinyS3.Object(etag: "1", bytes: [1, 2]) }
        return store
    }

    @Test func `new attributes make the version that the copy names`() async throws {
        let set = try await store(replacing: nil).provider().setAttributes(
            try key("a"), to: Self.attributes, etag: ETag("1"))
        #expect(set.etag == ETag("copy-of-1"))
        #expect(set.modified == Self.attributes.modified && set.mode == 0o640)
    }

    @Test func `a version that follows new attributes at once is not taken for ours`() async throws
    {
        let error = await #expect(throws: ProviderError.self) {
            try await store(replacing: "a").provider().setAttributes(
                try key("a"), to: Self.attributes, etag: ETag("1"))
        }
        #expect(error?.kind == .changed)
    }

    @Test func `a moved file is the version that the copy names`() async throws {
        let store = store(replacing: nil)
        let moved = try await store.provider().move(
            try key("a"), etag: ETag("1"), to: try key("b"), base: .absent)
        #expect(moved.etag == ETag("copy-of-1"))
        #expect(store.state.withLock { Array($0.objects.keys) } == ["b"])
    }

    @Test func `a version that follows a move at once is not taken for ours, and ours stays`()
        async throws
    {
        let store = store(replacing: "b")
        let error = await #expect(throws: ProviderError.self) {
            try await store.provider().move(
                try key("a"), etag: ETag("1"), to: try key("b"), base: .absent)
        }
        #expect(error?.kind == .exists)
        #expect(store.state.withLock { $0.objects["a"]?.etag } == "1")
        #expect(store.state.withLock { $0.objects["b"]?.etag } == "foreign")
    }
}
