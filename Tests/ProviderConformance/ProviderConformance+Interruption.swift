import Engine

extension ProviderConformance {
    static let interruptionCases = [
        Case("a source that fails midway leaves nothing") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let source = ConformanceSource(bytes: bytes) { offset in
                if offset > 0 { throw ConformanceRefusal() }
            }
            try await store.expectRefusal(of: source, at: "new", base: .absent)
            try await store.expectNames([], in: "")
            try await store.expectNothing(at: "new")
        },
        Case("a source that fails midway leaves the version that was there") { store in
            let old = try await store.write("file", [1])
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let source = ConformanceSource(bytes: bytes) { offset in
                if offset > 0 { throw ConformanceRefusal() }
            }
            try await store.expectRefusal(
                of: source, at: "file", base: .version(store.etag(of: old)))
            let listed = try await store.list("")
            try store.expect(listed, shows: [old])
            try await store.expect([1], at: "file")
        },
        Case("a source that ends too early leaves nothing") { store in
            let source = ConformanceShortSource(bytes: store.bytes(100), size: 1_000)
            try await store.expect(.source, of: "writing it") {
                _ = try await store.provider.write(
                    store.key("new"), from: source, attributes: ConformanceStore.attributes,
                    base: .absent, session: UntrackedUpload())
            }
            try await store.expectNames([], in: "")
        },
        Case("a directory is empty again after a write into it failed") { store in
            try await store.makeDirectory("directory")
            let source = ConformanceSource(bytes: [1]) { _ in throw ConformanceRefusal() }
            try await store.expectRefusal(of: source, at: "directory/new", base: .absent)
            try await store.provider.delete(store.key("directory"), kind: .directory, etag: nil)
        },
        Case("a write that is cancelled midway leaves all or nothing") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let task = ConformanceTask<Void>()
            let source = ConformanceSource(bytes: bytes) { _ in task.cancel() }
            do {
                try await task.run {
                    _ = try await store.provider.write(
                        store.key("new"), from: source, attributes: ConformanceStore.attributes,
                        base: .absent, session: UntrackedUpload())
                }
                try await store.expect(bytes, at: "new")
            } catch let error as ProviderError {
                try require(error.kind, equals: .cancelled, "why the write failed")
                try await store.expectNames([], in: "")
            }
        },
        Case("a read that is cancelled stops, and hands over nothing afterwards") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let etag = try await store.etag(of: store.write("file", bytes))
            let task = ConformanceTask<Void>()
            let sink = ConformanceSink(start: 0) { _ in task.cancel() }
            do {
                try await task.run {
                    try await store.provider.read(
                        store.key("file"), range: 0..<UInt64(bytes.count), etag: etag, into: sink)
                }
                try require(sink.bytes == bytes, "a read that succeeds has read all")
            } catch let error as ProviderError {
                try require(error.kind, equals: .cancelled, "why the read failed")
                let count = sink.bytes.count
                try require(count < bytes.count, "a cancelled read stops early")
            }
        },
        Case("a task that is cancelled already changes and sees nothing") { store in
            let file = try await store.write("file", [1, 2])
            let etag = try store.etag(of: file)
            let provider = store.provider
            let attributes = ConformanceStore.attributes
            let calls: [(String, @Sendable () async throws -> Void)] = [
                ("probe", { try await provider.probe() }),
                ("stat", { _ = try await provider.stat(store.key("file")) }),
                ("list", { _ = try await provider.entries(of: .root).next() }),
                ("read", { _ = try await store.read("file", etag: etag, range: 0..<2) }),
                ("write", { try await store.write("new", [1]) }),
                ("replace", { try await store.write("file", [3], base: .version(etag)) }),
                ("createDirectory", { try await store.makeDirectory("new") }),
                (
                    "setAttributes",
                    {
                        _ = try await provider.setAttributes(
                            store.key("file"), to: attributes, etag: etag)
                    }
                ),
                (
                    "move",
                    {
                        _ = try await provider.move(
                            store.key("file"), etag: etag, to: store.key("new"), base: .absent)
                    }
                ),
                (
                    "delete",
                    { try await provider.delete(store.key("file"), kind: .file, etag: etag) }
                ),
            ]
            for (name, call) in calls {
                try await store.expect(.cancelled, of: name) {
                    try await ConformanceTask<Void>().run {
                        withUnsafeCurrentTask { $0?.cancel() }
                        try await call()
                    }
                }
            }
            let listed = try await store.list("")
            try store.expect(listed, shows: [file])
        },
    ]
}

extension ConformanceStore {
    func expectRefusal(
        of source: some ByteSource, at path: String, base: BaseVersion
    ) async throws {
        do {
            _ = try await provider.write(
                key(path), from: source, attributes: Self.attributes, base: base,
                session: UntrackedUpload())
            throw ConformanceFailure("the source refused, and the write succeeded")
        } catch let error as ProviderError {
            try require(error.kind, equals: .source, "why the write failed")
            try require(error.cause is ConformanceRefusal, "the cause is what the source threw")
        }
    }
}
