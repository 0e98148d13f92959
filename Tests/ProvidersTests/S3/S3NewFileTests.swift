import Engine
import Synchronization
import Testing

@testable import ProviderS3

/// The requests that new files cost, and the checks that they share.
@Suite struct S3NewFileTests {
    private static let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000), mode: 0o640)

    private let store = TinyS3()
    private let clock = ClockAtOnce()
    private let provider: S3Provider

    init() throws {
        provider = try store.provider(clock: clock)
        store.state.withLock { $0.objects["d/"] = TinyS3.Object(etag: "d", bytes: []) }
    }

    private func key(_ path: String) throws -> ObjectKey {
        ObjectKey(try path.split(separator: "/").map { try #require(FileName(String($0))) })
    }

    private func write(_ path: String) async throws {
        _ = try await provider.write(
            key(path), from: SameBytes(size: 4), attributes: Self.attributes, base: .absent,
            session: UntrackedUpload())
    }

    /// The requests of `body`, without what they are about.
    private func requests(_ body: () async throws -> Void) async throws -> [String] {
        let before = store.asked.count
        try await body()
        return store.asked.dropFirst(before).map { String($0.prefix { $0 != " " }) }
    }

    private func expectRefusal(_ path: String, _ kind: ProviderError.Kind) async {
        let error = await #expect(throws: ProviderError.self) { try await write(path) }
        #expect(error?.kind == kind)
    }

    @Test func `many new files in a directory cost one request each, and one listing`() async throws
    {
        let requests = try await requests {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<50 { group.addTask { try await write("d/\(number)") } }
                try await group.waitForAll()
            }
        }
        #expect(requests == ["GET"] + [String](repeating: "PUT", count: 50))
    }

    @Test func `a directory with further pages is asked for each name`() async throws {
        store.state.withLock { state in
            state.objects["d/z/x"] = TinyS3.Object(etag: "x", bytes: [])
            state.entriesMax = 1
        }
        let requests = try await requests {
            for name in ["a", "b"] { try await write("d/\(name)") }
        }
        #expect(requests == ["GET", "GET", "PUT", "GET", "PUT"])
        await expectRefusal("d/z", .exists)
    }

    @Test func `what others do to the directory is seen two seconds later`() async throws {
        try await write("d/a")
        store.state.withLock { $0.objects["d/b/x"] = TinyS3.Object(etag: "x", bytes: []) }
        try await clock.sleep(until: clock.uptime + S3RecentListings.validity)
        await expectRefusal("d/b", .exists)
        store.state.withLock { $0.objects = [:] }
        try await clock.sleep(until: clock.uptime + S3RecentListings.validity)
        await expectRefusal("d/c", .missing)
        // A refusal is not remembered.
        store.state.withLock { $0.objects["d/"] = TinyS3.Object(etag: "d", bytes: []) }
        try await write("d/c")
    }

    /// SeaweedFS still lists folders that others have emptied, in a directory that is gone itself.
    @Test func `an emptied folder in a directory does not prove that the directory exists`()
        async throws
    {
        store.state.withLock { state in
            state.objects = [:]
            state.emptied = ["d/old/"]
        }
        await expectRefusal("d/a", .missing)
        #expect(store.state.withLock(\.objects).isEmpty)
    }

    @Test func `a listing in flight is outdated by our own changes in its directory only`()
        async throws
    {
        let (listings, directory) = (S3RecentListings(), try key("d"))
        var looks = 0
        for (changed, looksExpected) in [("e/a", 1), ("d/a/b", 1), ("d/a", 2), ("d", 3)] {
            try await clock.sleep(until: clock.uptime + S3RecentListings.validity)
            looks = 0
            let changed = try key(changed)
            for _ in 0..<3 {
                _ = try await listings.listing(of: directory, by: clock) {
                    looks += 1
                    if looks < looksExpected { listings.forget(changed) }
                    if looksExpected == 1 { listings.forget(changed) }
                    return .directories([])
                }
            }
            #expect(looks == looksExpected)
        }
    }

    @Test func `our own changes of directories are seen at once`() async throws {
        try await write("d/a")
        _ = try await provider.createDirectory(key("d/b"), attributes: Self.attributes)
        await expectRefusal("d/b", .exists)
        _ = try await provider.move(key("d/b"), etag: nil, to: key("d/c"), base: .absent)
        await expectRefusal("d/c", .exists)
        try await write("d/b")
        try await provider.delete(key("d/c"), kind: .directory, etag: nil)
        try await write("d/c")
        _ = try await provider.move(key("d"), etag: nil, to: key("e"), base: .absent)
        await expectRefusal("d/f", .missing)
        try await write("e/f")
    }
}

/// The requests that deleted files cost.
@Suite struct S3DeletedFileTests {
    private let store = TinyS3()
    private let provider: S3Provider

    init() throws {
        provider = try store.provider()
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "d", bytes: [])
            for name in 0..<5 { state.objects["d/\(name)"] = TinyS3.Object(etag: "1", bytes: [1]) }
        }
    }

    private func delete(_ name: String, etag: String = "1") async throws {
        let names = try ["d", name].map { try #require(FileName($0)) }
        try await provider.delete(ObjectKey(names), kind: .file, etag: ETag(etag))
    }

    @Test func `many deleted files cost one request each, and one listing`() async throws {
        for name in 0..<5 { try await delete("\(name)") }
        #expect(
            store.asked.map { String($0.prefix { $0 != " " }) }
                == ["GET"] + [String](repeating: "DELETE", count: 5))
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["d/"])
    }

    @Test func `a directory that others have removed does not come back`() async throws {
        store.state.withLock { $0.objects = [:] }
        let error = await #expect(throws: ProviderError.self) { try await delete("1") }
        #expect(error?.kind == .missing)
        #expect(store.state.withLock(\.objects).isEmpty)
    }

    /// Goal: a directory without a marker does not vanish with its last file.
    ///
    /// Method: it has a single file, and a subdirectory of many, which may go as a whole.
    @Test func `only what is in a directory itself keeps it without a marker`() async throws {
        store.state.withLock { state in
            state.objects["d/"] = nil
            for name in 1..<5 { state.objects["d/\(name)"] = nil }
            for name in 0..<300 {
                state.objects["d/sub/\(name)"] = TinyS3.Object(etag: "1", bytes: [1])
            }
        }
        try await delete("0")
        #expect(store.state.withLock { $0.objects["d/"] != nil })
    }

    @Test func `many entries keep a directory without a marker`() async throws {
        store.state.withLock { state in
            state.objects["d/"] = nil
            for name in 0..<200 {
                state.objects["d/sub\(name)/x"] = TinyS3.Object(etag: "1", bytes: [1])
            }
        }
        for name in 0..<5 { try await delete("\(name)") }
        #expect(store.state.withLock { $0.objects["d/"] == nil })
        #expect(store.asked.count == 6)
    }

    @Test func `a file that is another one now, or gone, is not deleted`() async throws {
        store.state.withLock { $0.objects["d/1"] = TinyS3.Object(etag: "2", bytes: [2]) }
        for (name, kind) in [("1", ProviderError.Kind.changed), ("9", .missing)] {
            let error = await #expect(throws: ProviderError.self) { try await delete(name) }
            #expect(error?.kind == kind)
        }
        #expect(store.state.withLock { $0.objects["d/1"]?.etag } == "2")
    }
}
