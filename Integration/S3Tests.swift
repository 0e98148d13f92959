import Engine
import Glibc
import Host
import Logging
import ProviderConformance
import Synchronization
import Testing
import Transport

@testable import ProviderS3
@testable import ProviderSupport

/// The contract of providers, kept by real servers for S3.
///
/// A server takes seconds to start, so all cases share one, each with a prefix of its own.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct S3Tests {
    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    private static func connect(
        _ store: ObjectStore, _ prefix: String = "", copyBytesMax: UInt64 = 5 << 30,
        pageEntries: Int = 1_000
    ) async throws -> S3Provider {
        try await S3Provider.connect(
            to: store.source(prefix), environment: store.environment, world: world,
            partBytes: 5 << 20, copyBytesMax: copyBytesMax, pageEntries: pageEntries)
    }

    private func runConformance(
        on kind: ObjectStore.Kind, _ options: ConformanceOptions, except refused: Set<String> = [],
        conditions: S3Conditions? = nil
    ) async throws {
        try await ObjectStore.with(kind) { store in
            let next = Mutex(0)
            let suite = ProviderConformance(options: options) {
                let number = next.withLock { number in
                    number += 1
                    return number
                }
                let provider = try await Self.connect(store, "case-\(number)", pageEntries: 10)
                if let conditions { provider.probe.known.withLock { $0 = conditions } }
                return provider
            }
            for testCase in ProviderConformance.cases where !refused.contains("\(testCase)") {
                do {
                    try await suite.run(testCase)
                } catch {
                    Issue.record(error, "\(testCase)")
                }
            }
        }
    }

    private var options: ConformanceOptions {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        // Above the size of a part, so that parts are sent.
        options.bytesOfSeveralPieces = 11 << 20
        options.keepsAnyBytesInNames = false
        options.pathBytesMax = 900
        return options
    }

    @Test func `SeaweedFS keeps the contract`() async throws {
        var options = options
        // It takes a backslash for a slash.
        options.refusedNames = ["a\\b"]
        try await runConformance(on: .seaweedFS, options)
    }

    /// moto keeps all objects apart, ignores conditions of copies, and knows nothing of keys with
    /// line ends or with what only a URL could mean.
    @Test func `moto keeps the contract as far as a mock can`() async throws {
        try await runConformance(
            on: .moto, options,
            except: [
                "odd names are names like any other",
                "exactly one of many writers with the same base wins",
                "exactly one of many writers who create wins",
            ])
    }

    @Test func `without any condition the contract is kept but for races`() async throws {
        var options = options
        options.refusedNames = ["a\\b"]
        let none = S3Conditions(
            putIfAbsent: false, putIfVersion: false, deleteIfVersion: false,
            batchIfVersion: false, copyIfSource: false, copyIfAbsent: false, copyIfVersion: false,
            keepsBackslash: false)
        try await runConformance(
            on: .seaweedFS, options,
            except: [
                "exactly one of many writers with the same base wins",
                "exactly one of many writers who create wins",
            ], conditions: none)
    }

    // MARK: Parts

    @Test func `what is too large for one copy moves in parts`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let bytes = (0..<(13 << 20)).map { UInt8(truncatingIfNeeded: ($0 &* 31) >> 7) }
            let provider = try await Self.connect(store, copyBytesMax: 5 << 20)
            let (from, to) = try (
                ObjectKey([#require(FileName("from"))]), ObjectKey([#require(FileName("to"))])
            )
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 7), mode: 0o600)
            let written = try await provider.write(
                from, from: ConformanceSource(bytes: bytes), attributes: attributes, base: .absent,
                session: UntrackedUpload())
            let moved = try await provider.move(
                from, etag: written.etag, to: to, base: .absent)
            #expect(moved.modified == attributes.modified)
            #expect(moved.mode == attributes.mode)
            let sink = MemorySink()
            try await provider.read(
                to, range: 0..<moved.size, etag: #require(moved.etag), into: sink)
            #expect(sink.all == bytes)
            let gone = await #expect(throws: ProviderError.self) { try await provider.stat(from) }
            #expect(gone?.kind == .missing)
        }
    }

    @Test func `an upload goes on after a restart and sends no part twice`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let bytes = (0..<(40 << 20)).map { UInt8(truncatingIfNeeded: ($0 &* 31) >> 7) }
            let key = ObjectKey([try #require(FileName("large"))])
            let attributes = ObjectAttributes(
                modified: Timestamp(seconds: 1_600_000_000), mode: 0o600)
            // Four parts go side by side, so when the seventh is read, three have arrived.
            let first = KeptSession()
            let running = Mutex<Task<RemoteObject, any Error>?>(nil)
            let (start, startNow) = AsyncStream<Void>.makeStream()
            let provider = try await Self.connect(store)
            let task = Task {
                for await _ in start { break }
                let source = ConformanceSource(bytes: bytes) { offset in
                    if offset >= 30 << 20 { running.withLock { $0 }?.cancel() }
                }
                return try await provider.write(
                    key, from: source, attributes: attributes, base: .absent, session: first)
            }
            running.withLock { $0 = task }
            startNow.finish()
            let error = await #expect(throws: ProviderError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
            let token = try #require(first.token)
            let arrived = try store.python(
                """
                upload = s3.list_multipart_uploads(Bucket=bucket)['Uploads'][0]['UploadId']
                parts = s3.list_parts(Bucket=bucket, Key='large', UploadId=upload)['Parts']
                print(*(part['PartNumber'] - 1 for part in parts))
                """
            ).split(whereSeparator: \.isWhitespace).compactMap { UInt64($0) }
            #expect(arrived.count >= 3)

            let read = Mutex<Set<UInt64>>([])
            let source = ConformanceSource(bytes: bytes) { offset in
                read.withLock { _ = $0.insert(offset / (5 << 20)) }
            }
            let second = KeptSession(token)
            let written = try await Self.connect(store).write(
                key, from: source, attributes: attributes, base: .absent, session: second)
            #expect(second.token == nil)
            #expect(second.sent == UInt64(bytes.count))
            #expect(read.withLock { $0 } == Set(0..<8).subtracting(arrived))
            let sink = MemorySink()
            try await provider.read(
                key, range: 0..<written.size, etag: #require(written.etag), into: sink)
            #expect(sink.all == bytes)

            // What is given up is gone from the store.
            let third = KeptSession()
            let cut = ConformanceSource(bytes: bytes) { offset in
                if offset >= 30 << 20 { throw KeptSession.Failure() }
            }
            let other = ObjectKey([try #require(FileName("other"))])
            await #expect(throws: ProviderError.self) {
                try await provider.write(
                    other, from: cut, attributes: attributes, base: .absent, session: third)
            }
            #expect(third.token == nil)
            try await provider.abandon(token, of: key)
            let left = try store.python(
                "print(len(s3.list_multipart_uploads(Bucket=bucket).get('Uploads', [])))")
            #expect(left == "0\n")
        }
    }

    @Test(arguments: [ObjectStore.Kind.seaweedFS, .moto])
    func `a copy in parts that a crash has left is found, and no other upload`(
        kind: ObjectStore.Kind
    ) async throws {
        try await ObjectStore.with(kind) { store in
            let size = S3CopyMark.partBytes(atLeast: 5 << 20)
            // The copy has its last part, which is smaller; the others nothing of ours.
            let ids = try store.python(
                """
                size = int(arguments[0])
                s3.put_object(Bucket=bucket, Key='p/from', Body=b'x' * (2 * size + 5))
                def begin(key, ranges):
                    id = s3.create_multipart_upload(Bucket=bucket, Key=key)['UploadId']
                    for number, (first, last) in ranges:
                        s3.upload_part_copy(
                            Bucket=bucket, Key=key, UploadId=id, PartNumber=number,
                            CopySource={'Bucket': bucket, 'Key': 'p/from'},
                            CopySourceRange='bytes=%d-%d' % (first, last))
                    return id
                begin('p/a +%25\u{FC}=&/to', [(1, (0, size - 1)), (3, (2 * size, 2 * size + 4))])
                print(begin('p/to', [(1, (0, (5 << 20) - 1))]), begin('p/to', []),
                    begin('q/to', [(1, (0, size - 1))]))
                """, String(size))
            let provider = try await Self.connect(store, "p")
            func left() throws -> Set<Substring> {
                let text = try store.python(
                    """
                    for upload in s3.list_multipart_uploads(Bucket=bucket)['Uploads']:
                        print(upload['UploadId'])
                    """)
                return Set(text.split(whereSeparator: \.isWhitespace))
            }
            // An hour has not passed yet.
            await provider.leftUploads.abortLeftCopies()
            #expect(try left().count == 4)
            await provider.leftUploads.abortLeftCopies(olderThan: 0)
            #expect(try left() == Set(ids.split(whereSeparator: \.isWhitespace)))
        }
    }

    // MARK: Other tools

    @Test func `times, modes and links mean the same to rclone, s3fs and Apus`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let provider = try await Self.connect(store, "shared")
            func key(_ name: String) throws -> ObjectKey {
                ObjectKey([try #require(FileName(name))])
            }
            let modified = Timestamp(seconds: 1_234_567_890, nanoseconds: 123_456_789)
            _ = try await provider.write(
                key("ours"), from: ConformanceSource(bytes: [1, 2, 3]),
                attributes: ObjectAttributes(modified: modified, mode: 0o751), base: .absent,
                session: UntrackedUpload())
            let listed = try store.rclone("lsjson", "store:\(ObjectStore.bucket)/shared")
            #expect(listed.contains("2009-02-13T23:31:30.123456789"), "\(listed)")
            let copies = "\(store.base)/copies"
            try store.rclone(
                "copy", "--metadata", "store:\(ObjectStore.bucket)/shared", copies)
            let ours = try Program.require("stat", "-c", "%a %.9Y", "\(copies)/ours")
            #expect(ours == "751 1234567890.123456789\n")
            try Files.setMode(0o604, of: "\(copies)/ours")
            try store.rclone(
                "copyto", "--metadata", "\(copies)/ours",
                "store:\(ObjectStore.bucket)/shared/back")
            let back = try await provider.stat(key("back"))
            #expect(back.mode == 0o604)
            #expect(back.modified == modified)

            try Files.write([4, 5], to: "\(store.base)/theirs")
            try Program.require("touch", "-d", "2001-02-03T04:05:06.789Z", "\(store.base)/theirs")
            try store.rclone(
                "copy", "\(store.base)/theirs", "store:\(ObjectStore.bucket)/shared")
            let theirs = try await provider.stat(key("theirs"))
            #expect(
                theirs.modified == Timestamp(seconds: 981_173_106, nanoseconds: 789_000_000))

            // As s3fs stores a link and a file.
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='shared/link', Body=b'ours',
                    Metadata={'mode': '41471', 'mtime': '1600000000', 'uid': '0', 'gid': '0'})
                s3.put_object(Bucket=bucket, Key='shared/file', Body=b'x',
                    Metadata={'mode': '33152', 'mtime': '1600000000', 'uid': '7', 'gid': '8'})
                """)
            let link = try await provider.stat(key("link"))
            #expect(link.kind == .symlink)
            #expect(link.target == Array("ours".utf8))
            let file = try await provider.stat(key("file"))
            #expect(file.mode == 0o600)
            _ = try await provider.setAttributes(
                key("file"), to: ObjectAttributes(modified: modified, mode: 0o644), etag: file.etag)
            let kept = try store.python(
                """
                print(s3.head_object(Bucket=bucket, Key='shared/file')['Metadata'].get('uid'))
                """)
            #expect(kept == "7\n")
        }
    }

    @Test func `s3fs and Apus see each other's files alike`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let provider = try await Self.connect(store)
            func key(_ name: String) throws -> ObjectKey {
                ObjectKey([try #require(FileName(name))])
            }
            var attributes = ObjectAttributes(
                modified: Timestamp(seconds: 1_234_567_890, nanoseconds: 5), mode: 0o640)
            attributes.extendedAttributes[Array("user.ours".utf8)] = [1, 0, 0xFF]
            _ = try await provider.write(
                key("ours"), from: ConformanceSource(bytes: [1, 2, 3]), attributes: attributes,
                base: .absent, session: UntrackedUpload())
            _ = try await provider.createSymlink(
                key("our-link"), target: Array("ours".utf8), attributes: attributes)
            _ = try await provider.createDirectory(
                key("our-directory"),
                attributes: ObjectAttributes(modified: attributes.modified, mode: 0o750))
            try store.withS3FS { point in
                let seen = try Program.require(
                    "stat", "-c", "%a %Y %F", "\(point)/ours", "\(point)/our-link")
                #expect(seen == "640 1234567890 regular file\n640 1234567890 symbolic link\n")
                #expect(try Files.read("\(point)/our-link") == [1, 2, 3])
                #expect(
                    try Program.require("stat", "-c", "%F", "\(point)/our-directory")
                        == "directory\n")
                #expect(try Files.attributeNames(of: "\(point)/ours") == ["user.ours"])
                #expect(try Files.attribute("user.ours", of: "\(point)/ours") == [1, 0, 0xFF])
                try Files.write([4, 5], to: "\(point)/theirs")
                try Files.setAttribute("user.theirs", to: [9], of: "\(point)/theirs")
                try Program.require("chmod", "600", "\(point)/theirs")
                try Program.require("touch", "-d", "2001-02-03T04:05:06Z", "\(point)/theirs")
                try Program.require("ln", "-s", "theirs", "\(point)/their-link")
                try Files.makeDirectory("\(point)/their-directory")
            }
            let theirs = try await provider.stat(key("theirs"))
            #expect(theirs.mode == 0o600)
            #expect(theirs.modified == Timestamp(seconds: 981_173_106))
            #expect(theirs.extendedAttributes?[Array("user.theirs".utf8)] == [9])
            let link = try await provider.stat(key("their-link"))
            #expect(link.kind == .symlink)
            #expect(link.target == Array("theirs".utf8))
            #expect(try await provider.stat(key("their-directory")).kind == .directory)
        }
    }

    @Test func `a directory move that was cut short goes on`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let provider = try await Self.connect(store, "", pageEntries: 7)
            // As a call leaves it that stopped after copying one file, and after moving another.
            try store.python(
                """
                for key in ['d/', 'd/a', 'd/sub/', 'd/sub/b', 'd/sub/c', 'e/', 'e/a', 'e/moved']:
                    s3.put_object(Bucket=bucket, Key=key, Body=key[-1:].encode() if key[-1] != '/' else b'')
                for i in range(30):
                    s3.put_object(Bucket=bucket, Key='d/many/%d' % i, Body=b'x')
                """)
            let (from, to) = try (
                ObjectKey([#require(FileName("d"))]), ObjectKey([#require(FileName("e"))])
            )
            let refused = await #expect(throws: ProviderError.self) {
                try await provider.move(from, etag: nil, to: to, base: .absent)
            }
            #expect(refused?.kind == .exists)
            for _ in 0..<2 {
                let moved = try await provider.move(
                    from, etag: nil, to: to, base: .absent, continues: true)
                #expect(moved.kind == .directory)
            }
            let keys = try store.python(
                """
                keys = [o['Key'] for o in s3.list_objects_v2(Bucket=bucket)['Contents']]
                print(sorted(k for k in keys if k[-1] != '/' and 'many' not in k))
                print(sum('e/many/' in k and k[-1] != '/' for k in keys))
                """)
            #expect(keys == "['e/a', 'e/moved', 'e/sub/b', 'e/sub/c']\n30\n")
        }
    }

    @Test(arguments: [ObjectStore.Kind.seaweedFS, .moto])
    func `what a store heeds of a batch of deletions is found out`(
        kind: ObjectStore.Kind
    ) async throws {
        try await ObjectStore.with(kind) { store in
            let provider = try await Self.connect(store, "p")
            #expect(
                try await provider.probe.conditions().batchIfVersion == (kind == .seaweedFS))
            // With nothing else in its parent, which stays, and keys that XML has to escape.
            let keys = ["a&b <c> \"d\"", "line\u{1}end", "z"]
            let parent = ObjectKey([try #require(FileName("parent"))])
            let (from, to) = (
                parent.appending(try #require(FileName("from"))),
                ObjectKey([try #require(FileName("to"))])
            )
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 7), mode: 0o755)
            for directory in [parent, from] {
                _ = try await provider.createDirectory(directory, attributes: attributes)
            }
            for name in keys where kind == .seaweedFS || name != keys[1] {
                _ = try await provider.write(
                    from.appending(#require(FileName(name))), from: ConformanceSource(bytes: [1]),
                    attributes: attributes, base: .absent, session: UntrackedUpload())
            }
            _ = try await provider.move(from, etag: nil, to: to, base: .absent)
            let count = kind == .seaweedFS ? 3 : 2
            #expect(try await provider.entries(of: to).next().objects.count == count)
            #expect(try await provider.entries(of: parent).next().objects.isEmpty)
            #expect(try await provider.stat(parent).kind == .directory)
        }
    }

    @Test(arguments: [ObjectStore.Kind.seaweedFS, .moto])
    func `a directory stays when its last file goes`(kind: ObjectStore.Kind) async throws {
        try await ObjectStore.with(kind) { store in
            try store.python("s3.put_object(Bucket=bucket, Key='implicit/file', Body=b'1')")
            let provider = try await Self.connect(store)
            let directory = ObjectKey([try #require(FileName("implicit"))])
            let file = directory.appending(try #require(FileName("file")))
            let object = try await provider.stat(file)
            try await provider.delete(file, kind: .file, etag: object.etag)
            #expect(try await provider.stat(directory).kind == .directory)
            #expect(try await provider.entries(of: directory).next().objects.isEmpty)
        }
    }

    @Test(arguments: [ObjectStore.Kind.seaweedFS, .moto])
    func `a directory that others have emptied can be made anew`(
        kind: ObjectStore.Kind
    ) async throws {
        try await ObjectStore.with(kind) { store in
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='implicit/file', Body=b'1')
                s3.delete_object(Bucket=bucket, Key='implicit/file')
                """)
            let provider = try await Self.connect(store)
            let directory = ObjectKey([try #require(FileName("implicit"))])
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 7), mode: 0o750)
            let made = try await provider.createDirectory(directory, attributes: attributes)
            #expect(made.kind == .directory && made.mode == 0o750)
            _ = try await provider.write(
                directory.appending(try #require(FileName("file"))),
                from: ConformanceSource(bytes: [2]), attributes: attributes, base: .absent,
                session: UntrackedUpload())
            let again = await #expect(throws: ProviderError.self) {
                try await provider.createDirectory(directory, attributes: attributes)
            }
            #expect(again?.kind == .exists)
        }
    }

    @Test func `a directory that others have emptied can be removed`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            try store.python(
                """
                s3.put_object(Bucket=bucket, Key='emptied/file', Body=b'1')
                s3.delete_object(Bucket=bucket, Key='emptied/file')
                """)
            let provider = try await Self.connect(store)
            let directory = ObjectKey([try #require(FileName("emptied"))])
            #expect(try await provider.entries(of: .root).next().objects.count == 1)
            try await provider.delete(directory, kind: .directory, etag: nil)
            #expect(try await provider.entries(of: .root).next().objects.isEmpty)
            let again = await #expect(throws: ProviderError.self) {
                try await provider.delete(directory, kind: .directory, etag: nil)
            }
            #expect(again?.kind == .missing)
        }
    }

    /// SeaweedFS has one entry for `both` and `both/`.
    @Test(arguments: [ObjectStore.Kind.seaweedFS, .moto])
    func `a file stays when the directory of its name is changed, moved and emptied`(
        kind: ObjectStore.Kind
    ) async throws {
        try await ObjectStore.with(kind) { store in
            try store.python(
                """
                for key in ['both', 'both/one', 'both/two']:
                    s3.put_object(Bucket=bucket, Key=key, Body=key.encode())
                """)
            let provider = try await Self.connect(store)
            func key(_ names: String...) throws -> ObjectKey {
                ObjectKey(try names.map { try #require(FileName($0)) })
            }
            func keys() throws -> String {
                try store.python(
                    """
                    found = s3.list_objects_v2(Bucket=bucket).get('Contents', [])
                    print(*[object['Key'] for object in found if object['Size']])
                    """)
            }
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 7), mode: 0o750)
            let directory = try key("both\u{241B}D")
            let refused = await #expect(throws: ProviderError.self) {
                try await provider.setAttributes(directory, to: attributes, etag: nil)
            }
            #expect(refused?.kind == .unsupported && refused?.remedy != nil)
            let one = directory.appending(try #require(FileName("one")))
            try await provider.delete(
                one, kind: .file, etag: try await provider.stat(one).etag)
            #expect(try keys() == "both both/two\n")
            _ = try await provider.move(directory, etag: nil, to: try key("moved"), base: .absent)
            #expect(try keys() == "both moved/two\n")
            #expect(try await provider.entries(of: .root).next().objects.count == 2)
        }
    }

    @Test func `keys that are no names are there, and can be read`() async throws {
        try await ObjectStore.with(.moto) { store in
            try store.python(
                """
                for key in ['both', 'both/below', 'x//y', 'z/../up', 'l' * 300, 'old_$folder$']:
                    s3.put_object(Bucket=bucket, Key=key, Body=b'' if '$' in key else key.encode())
                """)
            let provider = try await Self.connect(store, "", pageEntries: 2)
            var found: [String] = []
            var directories = [ObjectKey.root]
            while let directory = directories.popLast() {
                let cursor = provider.entries(of: directory)
                var page: ListingPage
                repeat {
                    page = try await cursor.next()
                    for object in page.objects {
                        let key = directory.appending(object.name)
                        guard object.kind == .file else {
                            directories.append(key)
                            continue
                        }
                        let sink = MemorySink()
                        try await provider.read(
                            key, range: 0..<object.size, etag: #require(object.etag), into: sink)
                        found.append(sink.text)
                    }
                } while !page.isLast
            }
            let expected = [
                "both", "both/below", "x//y", "z/../up", String(repeating: "l", count: 300),
            ]
            #expect(found.sorted() == expected.sorted())
            let old = ObjectKey([try #require(FileName("old"))])
            #expect(try await provider.stat(old).kind == .directory)
        }
    }
}

/// What the engine keeps of an upload, in memory.
private final class KeptSession: UploadSession {
    struct Failure: Error {}

    private let state: Mutex<(token: UploadToken?, sent: UInt64)>

    init(_ token: UploadToken? = nil) {
        state = Mutex((token, 0))
    }

    var token: UploadToken? { state.withLock { $0.token } }
    var sent: UInt64 { state.withLock { $0.sent } }

    func keep(_ token: UploadToken?) {
        state.withLock { $0.token = token }
    }

    func noteSent(_ bytes: UInt64) {
        state.withLock { state in
            if bytes < state.sent { Issue.record("progress went back") }
            state.sent = bytes
        }
    }
}

private final class MemorySink: ByteSink {
    private let bytes = Mutex<[UInt8]>([])

    var all: [UInt8] { bytes.withLock { $0 } }
    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        self.bytes.withLock { $0 += Array(bytes) }
    }
}
