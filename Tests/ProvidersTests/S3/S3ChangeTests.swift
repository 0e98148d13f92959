import Engine
import ProviderConformance
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3

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

    /// An empty one made each version another than is known, and a copy of it each time.
    @Test func `a store whose ETags are lost on the way is reported`() async throws {
        let store = TinyS3()
        let provider = try store.provider()
        let (known, new) = (try key("known"), try key("new"))
        store.state.withLock { state in
            state.objects["known"] = TinyS3.Object(etag: "1", bytes: [1, 2])
            state.losesETags = true
        }
        func expectFailure(_ call: () async throws -> Void) async {
            let error = await #expect(throws: ProviderError.self) { try await call() }
            // What it did is found out, as after an answer that was lost.
            #expect(error?.kind == .corrupt)
            #expect(error?.reason.contains("tells no ETag") == true, "\(String(describing: error))")
            #expect(error?.remedy?.contains("proxy") == true)
        }
        await expectFailure { _ = try await provider.stat(known) }
        await expectFailure {
            _ = try await provider.move(
                known, etag: ETag("1"), to: new, base: .absent)
        }
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["known"])
        for size in [4, 20] as [UInt64] {
            await expectFailure {
                _ = try await provider.write(
                    new, from: SameBytes(size: size), attributes: Self.attributes, base: .absent,
                    session: UntrackedUpload())
            }
        }
        let directory = try await provider.createDirectory(
            try key("d"), attributes: Self.attributes)
        #expect(directory.kind == .directory, "it has no version")
        provider.probe.known.withLock { $0 = nil }
        await expectFailure { _ = try await provider.probe.conditions() }
    }

    @Test func `the bytes of a marker are removed, and the directory stays`()
        async throws
    {
        let store = TinyS3()
        let held = TinyS3.Object(etag: "1", bytes: [1, 2])
        let provider = try store.provider()
        let directory = try key("d")
        let file = directory.appending(try #require(FileName("\u{241B}M")))
        func write(_ key: ObjectKey, _ base: BaseVersion) async -> ProviderError? {
            await #expect(throws: ProviderError.self) {
                try await provider.write(
                    key, from: SameBytes(size: 4), attributes: Self.attributes, base: base,
                    session: UntrackedUpload())
            }
        }
        for isMoved in [false, true] {
            store.state.withLock { $0.objects = ["d/": held] }
            let listed = try await provider.entries(of: directory).next().objects
            #expect(listed.map(\.name) == file.names.suffix(1))
            let refused = await write(file, .version(ETag("1")))
            #expect(refused?.kind == .unsupported && refused?.remedy != nil)
            if isMoved {
                _ = try await provider.move(file, etag: ETag("1"), to: try key("x"), base: .absent)
                #expect(store.state.withLock { $0.objects["x"]?.bytes } == [1, 2])
            } else {
                try await provider.delete(file, kind: .file, etag: ETag("1"))
            }
            #expect(store.state.withLock { $0.objects["d/"]?.bytes } == [])
            let gone = await #expect(throws: ProviderError.self) { try await provider.stat(file) }
            #expect(gone?.kind == .missing)
            #expect(await write(file, .absent)?.kind == .unsupported)
        }
    }

    /// Goal: what others have named so that it is shown in a directory of its own can be changed
    /// there, and nothing new be made.
    @Test func `an object whose name is too long is edited, renamed and deleted`() async throws {
        let store = TinyS3()
        let provider = try store.provider()
        let part = String(repeating: "l", count: 300)
        store.state.withLock { state in
            for end in ["a", "b"] {
                state.objects["d/\(part)\(end)"] = TinyS3.Object(etag: end, bytes: [1])
            }
        }
        let directory = try key("d")
        let beginning = directory.appending(
            try #require(S3Name.beginning(of: part.utf8).name))
        let names = try await provider.entries(of: beginning).next().objects.map(\.name)
        #expect(names.count == 2)
        let (first, second) = (beginning.appending(names[0]), beginning.appending(names[1]))
        func write(_ key: ObjectKey, _ base: BaseVersion) async throws -> RemoteObject {
            try await provider.write(
                key, from: SameBytes(size: 4), attributes: Self.attributes, base: base,
                session: UntrackedUpload())
        }
        let edited = try await write(first, .version(ETag("a")))
        #expect(store.state.withLock { $0.objects["d/\(part)a"]?.bytes } == [7, 7, 7, 7])
        let refused = await #expect(throws: ProviderError.self) {
            try await write(beginning.appending(try #require(FileName("new"))), .absent)
        }
        #expect(refused?.kind == .unsupported && refused?.remedy != nil)
        _ = try await provider.move(
            first, etag: edited.etag, to: try key("short"), base: .absent)
        try await provider.delete(second, kind: .file, etag: ETag("b"))
        // The directory that they lay in stays, as any other.
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["d/", "short"])
    }

    @Test func `a folder that others have emptied and no listing shows is removed`() async throws {
        let store = TinyS3()
        store.state.withLock { $0.folders = ["d/"] }
        let provider = try store.provider()
        try await provider.delete(try key("d"), kind: .directory, etag: nil)
        #expect(store.state.withLock(\.folders).isEmpty)
        let gone = await #expect(throws: ProviderError.self) {
            try await provider.delete(try key("d"), kind: .directory, etag: nil)
        }
        #expect(gone?.kind == .missing)
    }

    @Test func `setting attributes returns the version of the copy`() async throws {
        let set = try await store(replacing: nil).provider().setAttributes(
            try key("a"), to: Self.attributes, etag: ETag("1"))
        #expect(set.etag == ETag("copy-of-1"))
        #expect(set.modified == Self.attributes.modified && set.mode == 0o640)
    }

    @Test func `a version written right after new attributes does not count as ours`() async throws
    {
        let error = await #expect(throws: ProviderError.self) {
            try await store(replacing: "a").provider().setAttributes(
                try key("a"), to: Self.attributes, etag: ETag("1"))
        }
        #expect(error?.kind == .changed)
    }

    @Test func `a move returns the version of the copy`() async throws {
        let store = store(replacing: nil)
        let moved = try await store.provider().move(
            try key("a"), etag: ETag("1"), to: try key("b"), base: .absent)
        #expect(moved.etag == ETag("copy-of-1"))
        #expect(store.state.withLock { Array($0.objects.keys) } == ["b"])
    }

    @Test func `a version written right after a move does not count as ours, and ours stays`()
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

    @Test(arguments: [403, 503, 507])
    func `a move that copied and may not delete has an unknown outcome`(
        refusal: Int
    ) async throws {
        let store = store(replacing: nil)
        store.state.withLock { $0.deletionRefusal = refusal }
        let error = await #expect(throws: ProviderError.self) {
            try await store.provider().move(
                try key("a"), etag: ETag("1"), to: try key("b"), base: .absent)
        }
        #expect(error?.kind == .unreachable)
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["a", "b"])
    }

    // MARK: Directories

    /// A bucket with a directory `d` of many files, and `d/5` replaced right after it was copied.
    private func storeWithDirectory(count: Int, replaces: Bool) -> TinyS3 {
        let store = TinyS3 { operation, state in
            guard replaces, operation == "copy", state.objects["e/5"]?.etag == "copy-of-5",
                state.objects["d/5"]?.etag == "5"
            else { return }
            state.objects["d/5"] = Self.foreign
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
            try key("d"), etag: nil, to: try key("e"), base: .absent)
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
            try key("d"), etag: nil, to: try key("e"), base: .absent)
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
        _ = try await provider.move(try key("d"), etag: nil, to: try key("e"), base: .absent)
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
            state.objects["d/sub/5"] = Self.foreign
        }
        let names = ["4", "6", "sub/", "sub/5", "sub/6", "tree/", "tree/7"]
        store.state.withLock { state in
            state.objects["d/"] = TinyS3.Object(etag: "0", bytes: [])
            state.objects["e/tree/7"] = Self.foreign
            for name in names {
                state.objects["d/" + name] = TinyS3.Object(
                    etag: name, bytes: name.hasSuffix("/") ? [] : [1])
            }
        }
        let provider = try store.provider()
        provider.probe.known.withLock { $0?.copyIfAbsent = copiesIfAbsent }
        _ = try await provider.move(
            try key("d"), etag: nil, to: try key("e"), base: .absent, continues: true)
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
            try key("d"), etag: nil, to: try key("e"), base: .absent, continues: false, nonce: nil
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
            try key("d"), etag: nil, to: try key("e"), base: .absent, continues: true, nonce: nil
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
            try key("d"), etag: nil, to: try key("e"), base: .absent, continues: false, nonce: nil
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
                try key("d"), etag: nil, to: try key("e"), base: .absent)
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
        _ = try await provider.move(try key("d"), etag: nil, to: try key("e"), base: .absent)
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
            try key("d"), attributes: Self.attributes)
        #expect(made.kind == .directory && made.mode == 0o640)
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["d/"])
    }

    @Test(arguments: ["d", "d/below", "d/"])
    func `a directory is not created if another client was faster`(other: String) async throws {
        // What the first look misses comes with the answer that refuses the marker.
        let store = storeWithFolder([]) { operation, state in
            if operation == "put" { state.objects[other] = Self.foreign }
        }
        let provider = try store.provider()
        let error = await #expect(throws: ProviderError.self) {
            try await provider.createDirectory(try key("d"), attributes: Self.attributes)
        }
        #expect(error?.kind == .exists)
        #expect(store.state.withLock { $0.objects.mapValues(\.etag) } == [other: "foreign"])
    }

    @Test(arguments: [true, false])
    func `a directory that never had a marker stays when its last file goes`(
        isMarkedMeanwhile: Bool
    ) async throws {
        let store = storeWithFolder(["d/file"]) { operation, state in
            if operation == "put", isMarkedMeanwhile { state.objects["d/"] = Self.foreign }
        }
        try await store.provider().delete(
            try key("d").appending(try #require(FileName("file"))), kind: .file,
            etag: ETag("d/file"))
        let left = store.state.withLock { $0.objects.mapValues(\.etag) }
        #expect(Array(left.keys) == ["d/"])
        #expect((left["d/"] == "foreign") == isMarkedMeanwhile)
    }

    // MARK: Metadata

    /// s3fs and earlier versions write decimal, rclone octal, we octal with a leading zero.
    @Test(arguments: [
        ("33184", UInt16(0o640)), ("100640", 0o640), ("0100640", 0o640), ("104755", 0o4755),
        ("416", 0o640), ("0640", 0o640), ("no mode", nil),
    ])
    func `a mode is read in the intended base`(text: String, mode: UInt16?) async throws {
        let store = TinyS3()
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: [1], headers: ["x-amz-meta-mode": text])
        }
        let found = try await store.provider().stat(try key("a"))
        #expect(found.kind == .file && found.mode == mode)
    }

    @Test(arguments: ["41471", "120777", "0120777"])
    func `a symbolic link is recognised by its mode`(text: String) async throws {
        let store = TinyS3()
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: Array("target".utf8), headers: ["x-amz-meta-mode": text])
        }
        let found = try await store.provider().stat(try key("a"))
        #expect(found.target == Array("target".utf8))
    }

    /// A store's times count seconds: what follows within one cannot be told by its time.
    @Test(arguments: [
        ("Sun, 13 Sep 2020 12:26:40 GMT", false), ("Sun, 13 Sep 2020 12:26:41 GMT", false),
        ("Sun, 13 Sep 2020 12:26:42 GMT", true), ("Sun, 13 Sep 2020 12:26:39 GMT", false),
        ("Sun, 13 Sep 2020 12:20:00 GMT", true), ("no date", true),
    ])
    func `a look within the second of the last write is repeated later`(
        now: String, isOver: Bool
    ) async throws {
        let store = TinyS3()
        store.state.withLock { state in
            state.now = now
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: [1], headers: ["last-modified": "Sun, 13 Sep 2020 12:26:40 GMT"])
        }
        let seconds: Int64 = 1_600_000_000 - (isOver ? 0 : 1)
        #expect(
            try await store.provider().stat(try key("a")).remoteModified
                == Timestamp(seconds: seconds))
    }

    @Test func `new bytes keep metadata of other programs, except checksums of the old bytes`()
        async throws
    {
        for size in [UInt64(3), 5 << 19] {
            let store = TinyS3()
            let old = [
                "x-amz-meta-uid": "5", "x-amz-meta-owner": "they", "x-amz-meta-md5chksum": "x",
                "x-amz-meta-mode": "33188", "x-amz-meta-mtime": "1", "content-type": "text/html",
                "cache-control": "no-cache", "content-encoding": "gzip",
                "content-disposition": "inline", "x-amz-storage-class": "GLACIER_IR",
            ]
            store.state.withLock {
                $0.objects["a"] = TinyS3.Object(etag: "1", bytes: [1, 2], headers: old)
            }
            let written = try await store.provider().write(
                try key("a"), from: SameBytes(size: size), attributes: Self.attributes,
                base: .version(ETag("1")), session: UntrackedUpload())
            let now = try #require(store.state.withLock { $0.objects["a"] })
            #expect(now.etag == written.etag?.description)
            #expect(
                now.headers == [
                    "x-amz-meta-uid": "5", "x-amz-meta-owner": "they",
                    "x-amz-meta-mode": "0100640", "x-amz-meta-mtime": "1600000000.000000000",
                    "content-type": "text/html", "cache-control": "no-cache",
                    "content-disposition": "inline",
                ])
            // One look costs less than an object that others no longer understand, and one more tells
            // when the upload in parts was made.
            #expect(store.asked.filter { $0 == "HEAD /a" }.count == (size > 8 ? 3 : 1))
        }
    }

    @Test func `an upload that continues after a chmod sends nothing again`() async throws {
        let store = TinyS3()
        let session = KeptUpload()
        let provider = try store.provider()
        func write(mode: UInt16) async throws -> RemoteObject {
            try await provider.write(
                try key("a"), from: SameBytes(size: 5 << 19),
                attributes: ObjectAttributes(modified: Self.attributes.modified, mode: mode),
                base: .absent, session: session)
        }
        store.state.withLock { $0.isBusyAtEnd = true }
        let error = await #expect(throws: ProviderError.self) { try await write(mode: 0o600) }
        #expect(error?.kind == .busy)
        store.state.withLock { $0.isBusyAtEnd = false }
        let written = try await write(mode: 0o755)
        #expect(store.asked.filter { $0.contains("partNumber=") }.count == 3)
        let now = try #require(store.state.withLock { $0.objects["a"] })
        #expect(now.headers["x-amz-meta-mode"] == "0100755")
        #expect(now.etag == written.etag?.description)
        #expect(written.mode == 0o755)
        #expect(session.token == nil)
    }

    @Test func `an upload that continues with the same metadata is not copied`() async throws {
        let store = TinyS3()
        let (session, provider) = (KeptUpload(), try store.provider())
        for isBusy in [true, false] {
            store.state.withLock { $0.isBusyAtEnd = isBusy }
            _ = try? await provider.write(
                try key("a"), from: SameBytes(size: 5 << 19), attributes: Self.attributes,
                base: .absent,
                session: session)
        }
        #expect(store.state.withLock { $0.objects["a"]?.etag.hasSuffix("-3") } == true)
        #expect(store.asked.filter { $0 == "PUT /a" }.isEmpty)
    }
}

/// A session that remembers.
final class KeptUpload: UploadSession {
    private let kept: Mutex<UploadToken?>

    init(_ token: UploadToken? = nil) {
        kept = Mutex(token)
    }

    var token: UploadToken? { kept.withLock { $0 } }
    var nonce: WriteNonce? { nil }

    func expect(_ etag: ETag) {}

    func keep(_ token: UploadToken?) { kept.withLock { $0 = token } }

    func noteSent(_ bytes: UInt64) {}
}
