import Engine
import ProviderConformance
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3

/// What another client does at the moment when we move, make or empty a directory.
@Suite struct S3DirectoryChangeTests {
    /// A bucket with a directory `d` of many files, and `d/5` replaced right after it was copied.
    private func storeWithDirectory(count: Int, replaces: Bool) -> TinyS3 {
        let store = TinyS3 { operation, state in
            guard replaces, operation == "copy", state.objects["e/5"]?.etag == "copy-of-5",
                state.objects["d/5"]?.etag == "5"
            else { return }
            state.objects["d/5"] = S3Sample.foreign
        }
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            for number in 1...count {
                state.objects["d/\(number)"] = TinyS3.Object(etag: "\(number)", bytes: [1])
            }
        }
        return store
    }

    @Test func `the old files of a moved directory are deleted in batches`() async throws {
        let store = storeWithDirectory(count: 300, replaces: false)
        _ = try await store.provider().move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent)
        let keys = store.state.withLock { Set($0.objects.keys) }
        #expect(keys == Set((1...300).map { "e/\($0)" } + ["e/"]))
        #expect(store.asked.filter { $0 == "POST ?delete=" }.count == 3)
        #expect(store.asked.filter { $0.hasPrefix("DELETE") } == ["DELETE /d/"])
    }

    @Test func `sixteen objects of a directory are moved at a time`() async throws {
        let wire = CrowdedWire(expected: 16) { request in
            request.headers.contains { $0.name == "x-amz-copy-source" }
        }
        wire.store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            for name in 1...40 {
                state.objects["d/\(name)"] = TinyS3.Object(etag: "\(name)", bytes: [1])
            }
        }
        _ = try await CrowdedWire.provider(wire).move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent)
        #expect(wire.crowd.largest == 16)
        let keys = wire.store.state.withLock { Set($0.objects.keys) }
        #expect(keys == Set((1...40).map { "e/\($0)" } + ["e/"]))
    }

    @Test(arguments: [true, false])
    func `a version written right after a copy is moved instead of it`(
        isBatched: Bool
    ) async throws {
        let store = storeWithDirectory(count: 20, replaces: true)
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.batchIfVersion = isBatched }
        _ = try await provider.move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent)
        let objects = store.state.withLock { $0.objects.mapValues(\.etag) }
        #expect(Set(objects.keys) == Set((1...20).map { "e/\($0)" } + ["e/"]))
        #expect(objects["e/5"] == "copy-of-foreign")
        #expect(objects["e/6"] == "copy-of-6")
    }

    /// Method: others make `e/tree/7` before ours gets there, and `d/sub/5` again after ours has left.
    @Test(arguments: [true, false])
    func `an object of another client in the new place leaves ours in the old one`(
        copiesIfAbsent: Bool
    ) async throws {
        let store = TinyS3 { operation, state in
            guard state.objects["e/sub/5"] != nil, state.objects["d/sub/5"] == nil else { return }
            state.objects["d/sub/5"] = S3Sample.foreign
        }
        let names = ["4", "6", "sub/", "sub/5", "sub/6", "tree/", "tree/7"]
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["e/tree/7"] = S3Sample.foreign
            for name in names {
                state.objects["d/" + name] = TinyS3.Object(
                    etag: name, bytes: name.hasSuffix("/") ? [] : [1])
            }
        }
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.copyIfAbsent = copiesIfAbsent }
        _ = try await provider.move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent,
            continues: true)
        let objects = store.state.withLock { $0.objects.mapValues(\.etag) }
        #expect(
            Set(objects.keys)
                == Set(names.map { "e/" + $0 } + ["e/", "d/", "d/tree/", "d/tree/7", "d/sub/5"]))
        #expect(objects["d/tree/7"] == "tree/7" && objects["e/tree/7"] == "foreign")
        #expect(objects["d/sub/5"] == "foreign" && objects["e/sub/5"] == "copy-of-sub/5")
    }

    @Test(arguments: [true, false])
    func `copies with other ETags are noted before the originals are deleted`(inBatches: Bool)
        async throws
    {
        let store = TinyS3()
        store.state.withLock { state in
            for name in ["d/", "d/a", "d/sub/", "d/sub/b"] {
                state.objects[name] = TinyS3.Object(
                    etag: name, bytes: name.hasSuffix("/") ? [] : [1])
            }
        }
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.batchIfVersion = inBatches }
        let noted = Mutex<[CopiedFile]>([])
        _ = try await provider.move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent,
            continues: false, nonce: nil
        ) { files in
            let objects = store.state.withLock { $0.objects }
            for file in files { #expect(objects[file.former.description] != nil) }
            noted.withLock { $0 += files }
        }
        let expected = try [["a"], ["sub", "b"]].map { path in
            let former = "d/" + path.joined(separator: "/")
            return CopiedFile(
                path: try path.map { try #require(FileName($0)) }, former: ETag(former),
                etag: ETag("copy-of-" + former))
        }
        #expect(Set(noted.withLock { $0 }) == Set(expected))
        let left = store.state.withLock { $0.objects.keys.filter { $0.hasPrefix("d/") } }
        #expect(left.isEmpty)
    }

    /// Goal: another client's object of the same size and time is not taken for the same version.
    @Test(arguments: [true, false])
    func `a copy of an earlier call is noted only if a nonce shows whose it is`(hasNonce: Bool)
        async throws
    {
        let store = TinyS3()
        store.state.withLock { state in
            var headers = ["x-amz-meta-mtime": "1700000000.5"]
            if hasNonce { headers["x-amz-meta-apus-write"] = "0123456789abcdef" }
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["e/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["d/a"] = TinyS3.Object(etag: "first-2", bytes: [1], headers: headers)
            state.objects["e/a"] = TinyS3.Object(etag: "other", bytes: [1], headers: headers)
        }
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.copyIfAbsent = false }
        let noted = Mutex<[CopiedFile]>([])
        _ = try await provider.move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent,
            continues: true, nonce: nil
        ) { files in noted.withLock { $0 += files } }
        let objects = store.state.withLock { $0.objects.mapValues(\.etag) }
        #expect(objects["d/a"] == nil && objects["e/a"] == "other")
        #expect(noted.withLock { $0.map(\.etag) } == (hasNonce ? [ETag("other")] : []))
    }

    /// Method: another client changes the file between the look and the copy, which the store does not notice.
    @Test func `a copy of a version that was replaced is not noted in the end`() async throws {
        let store = TinyS3 { operation, state in
            guard operation == "copy", state.objects["d/a"]?.etag == "first-2" else { return }
            state.objects["d/a"] = TinyS3.Object(etag: "second", bytes: [2])
        }
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["d/a"] = TinyS3.Object(etag: "first-2", bytes: [1])
        }
        let last = Mutex<[[FileName]: CopiedFile]>([:])
        _ = try await store.provider().move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent,
            continues: false, nonce: nil
        ) { files in last.withLock { for file in files { $0[file.path] = file } } }
        let file = last.withLock { $0.values.first { $0.former == ETag("first-2") } }
        #expect(file == nil || file?.etag == ETag("first-2"))
        #expect(store.state.withLock { $0.objects["e/a"]?.bytes } == [2])
    }

    @Test func `files that keep changing are left for later`() async throws {
        let store = TinyS3 { operation, state in
            guard operation == "copy" else { return }
            state.objects["d/5"] = TinyS3.Object(etag: "\(state.requests.count)", bytes: [1])
        }
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["d/5"] = TinyS3.Object(etag: "5", bytes: [1])
        }
        let error = await #expect(throws: ProviderError.self) {
            try await store.provider().move(
                try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent)
        }
        #expect(error?.kind == .busy)
        #expect(store.state.withLock { $0.objects["d/5"] != nil })
    }

    @Test func `at a store that ignores versions in a batch, files are deleted one at a time`()
        async throws
    {
        let store = storeWithDirectory(count: 20, replaces: false)
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.batchIfVersion = false }
        _ = try await provider.move(
            try S3Sample.key("d"), etag: nil, to: try S3Sample.key("e"), base: .absent)
        #expect(store.asked.filter { $0.hasPrefix("DELETE") }.count == 21)
        #expect(!store.asked.contains("POST ?delete="))
    }

    /// A bucket with a folder `d/` of the store's own, which refuses that a marker be made there.
    private func storeWithFolder(
        _ objects: [String], intruder: @escaping TinyS3.Intruder = { _, _ in }
    ) -> TinyS3 {
        let store = TinyS3(intruder: intruder)
        store.state.withLock { state in
            state.folders = ["d/"]
            for key in objects { state.objects[key] = TinyS3.Object(etag: key, bytes: [1]) }
        }
        return store
    }

    @Test func `a directory that others have emptied is created again if the store keeps a folder`()
        async throws
    {
        let store = storeWithFolder([])
        let made = try await store.provider().createDirectory(
            try S3Sample.key("d"), attributes: S3Sample.attributes)
        #expect(made.kind == .directory && made.mode == 0o640)
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["d/"])
    }

    @Test(arguments: ["d", "d/below", "d/"])
    func `a directory is not created if another client was faster`(other: String) async throws {
        // What the first look misses comes with the answer that refuses the marker.
        let store = storeWithFolder([]) { operation, state in
            if operation == "put" { state.objects[other] = S3Sample.foreign }
        }
        let provider = try store.provider()
        let error = await #expect(throws: ProviderError.self) {
            try await provider.createDirectory(
                try S3Sample.key("d"), attributes: S3Sample.attributes)
        }
        #expect(error?.kind == .exists)
        #expect(store.state.withLock { $0.objects.mapValues(\.etag) } == [other: "foreign"])
    }

    @Test(arguments: [true, false])
    func `a directory that never had a marker stays when its last file goes`(
        isMarkedMeanwhile: Bool
    ) async throws {
        let store = storeWithFolder(["d/file"]) { operation, state in
            if operation == "put", isMarkedMeanwhile { state.objects["d/"] = S3Sample.foreign }
        }
        try await store.provider().delete(
            try S3Sample.key("d").appending(try #require(FileName("file"))), kind: .file,
            etag: ETag("d/file"))
        let left = store.state.withLock { $0.objects.mapValues(\.etag) }
        #expect(Array(left.keys) == ["d/"])
        #expect((left["d/"] == "foreign") == isMarkedMeanwhile)
    }
}
