import Engine
import ProviderConformance
import Synchronization
import TestBytes
import Testing

@testable import ProviderS3

extension S3Tests {
    @Test func `what is too large for one copy moves in parts`() async throws {
        try await ObjectStore.with(.seaweedFS) { store in
            let bytes = TestBytes.random(13 << 20)
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
            let bytes = TestBytes.random(40 << 20)
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
    var nonce: WriteNonce? { nil }

    func expect(_ etag: ETag) {}

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
