import Engine
import ProviderConformance
import Testing

@testable import ProviderS3

extension S3Tests {
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
