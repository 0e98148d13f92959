import Engine
import ProviderConformance
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderS3

/// What another client does at the moment of a change of ours.
@Suite struct S3ChangeTests {
    /// A bucket that holds `a`, and in which `a` or `b` is replaced right after it was copied.
    private func store(replacing key: String?) -> TinyS3 {
        let store = TinyS3 { operation, state in
            if let key, operation == "copy" { state.objects[key] = S3Sample.foreign }
        }
        store.state.withLock { $0.objects["a"] = TinyS3.Object(etag: "1", bytes: [1, 2]) }
        return store
    }

    /// An empty one made each version another than is known, and a copy of it each time.
    @Test func `a store whose ETags are lost on the way is reported`() async throws {
        let store = TinyS3()
        let provider = try store.provider()
        let (known, new) = (try S3Sample.key("known"), try S3Sample.key("new"))
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
                    new, from: SameBytes(size: size), attributes: S3Sample.attributes,
                    base: .absent,
                    session: UntrackedUpload())
            }
        }
        let directory = try await provider.createDirectory(
            try S3Sample.key("d"), attributes: S3Sample.attributes)
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
        let directory = try S3Sample.key("d")
        let file = directory.appending(try #require(FileName("\u{241B}M")))
        func write(_ key: ObjectKey, _ base: BaseVersion) async -> ProviderError? {
            await #expect(throws: ProviderError.self) {
                try await provider.write(
                    key, from: SameBytes(size: 4), attributes: S3Sample.attributes, base: base,
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
                _ = try await provider.move(
                    file, etag: ETag("1"), to: try S3Sample.key("x"), base: .absent)
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
        let directory = try S3Sample.key("d")
        let beginning = directory.appending(
            try #require(S3Name.beginning(of: part.utf8).name))
        let names = try await provider.entries(of: beginning).next().objects.map(\.name)
        #expect(names.count == 2)
        let (first, second) = (beginning.appending(names[0]), beginning.appending(names[1]))
        func write(_ key: ObjectKey, _ base: BaseVersion) async throws -> RemoteObject {
            try await provider.write(
                key, from: SameBytes(size: 4), attributes: S3Sample.attributes, base: base,
                session: UntrackedUpload())
        }
        let edited = try await write(first, .version(ETag("a")))
        #expect(store.state.withLock { $0.objects["d/\(part)a"]?.bytes } == [7, 7, 7, 7])
        let refused = await #expect(throws: ProviderError.self) {
            try await write(beginning.appending(try #require(FileName("new"))), .absent)
        }
        #expect(refused?.kind == .unsupported && refused?.remedy != nil)
        _ = try await provider.move(
            first, etag: edited.etag, to: try S3Sample.key("short"), base: .absent)
        try await provider.delete(second, kind: .file, etag: ETag("b"))
        // The directory that they lay in stays, as any other.
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["d/", "short"])
    }

    @Test func `a folder that others have emptied and no listing shows is removed`() async throws {
        let store = TinyS3()
        store.state.withLock { $0.folders = ["d/"] }
        let provider = try store.provider()
        try await provider.delete(try S3Sample.key("d"), kind: .directory, etag: nil)
        #expect(store.state.withLock(\.folders).isEmpty)
        let gone = await #expect(throws: ProviderError.self) {
            try await provider.delete(try S3Sample.key("d"), kind: .directory, etag: nil)
        }
        #expect(gone?.kind == .missing)
    }

    @Test func `setting attributes returns the version of the copy`() async throws {
        let set = try await store(replacing: nil).provider().setAttributes(
            try S3Sample.key("a"), to: S3Sample.attributes, etag: ETag("1"))
        #expect(set.etag == ETag("copy-of-1"))
        #expect(set.modified == S3Sample.attributes.modified && set.mode == 0o640)
    }

    @Test func `a version written right after new attributes does not count as ours`() async throws
    {
        let error = await #expect(throws: ProviderError.self) {
            try await store(replacing: "a").provider().setAttributes(
                try S3Sample.key("a"), to: S3Sample.attributes, etag: ETag("1"))
        }
        #expect(error?.kind == .changed)
    }

    @Test func `a move returns the version of the copy`() async throws {
        let store = store(replacing: nil)
        let moved = try await store.provider().move(
            try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        #expect(moved.etag == ETag("copy-of-1"))
        #expect(store.state.withLock { Array($0.objects.keys) } == ["b"])
    }

    @Test func `a version written right after a move does not count as ours, and ours stays`()
        async throws
    {
        let store = store(replacing: "b")
        let error = await #expect(throws: ProviderError.self) {
            try await store.provider().move(
                try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
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
                try S3Sample.key("a"), etag: ETag("1"), to: try S3Sample.key("b"), base: .absent)
        }
        #expect(error?.kind == .unreachable)
        #expect(store.state.withLock { $0.objects.keys.sorted() } == ["a", "b"])
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
        let found = try await store.provider().stat(try S3Sample.key("a"))
        #expect(found.kind == .file && found.mode == mode)
    }

    @Test(arguments: ["41471", "120777", "0120777"])
    func `a symbolic link is recognised by its mode`(text: String) async throws {
        let store = TinyS3()
        store.state.withLock { state in
            state.objects["a"] = TinyS3.Object(
                etag: "1", bytes: Array("target".utf8), headers: ["x-amz-meta-mode": text])
        }
        let found = try await store.provider().stat(try S3Sample.key("a"))
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
            try await store.provider().stat(try S3Sample.key("a")).remoteModified
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
                try S3Sample.key("a"), from: SameBytes(size: size), attributes: S3Sample.attributes,
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
                try S3Sample.key("a"), from: SameBytes(size: 5 << 19),
                attributes: ObjectAttributes(modified: S3Sample.attributes.modified, mode: mode),
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
                try S3Sample.key("a"), from: SameBytes(size: 5 << 19),
                attributes: S3Sample.attributes,
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
