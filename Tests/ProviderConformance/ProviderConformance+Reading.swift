import Engine

extension ProviderConformance {
    static let readingCases = [
        Case("stat tells of a file what was written") { store in
            let written = try await store.write("file", store.bytes(1_000))
            let found = try await store.provider.stat(store.key("file"))
            try require(found, equals: written, "the object after writing it")
            try require(found.kind, equals: .file, "its kind")
            try require(found.size, equals: 1_000, "its size")
            try require(found.name.description, equals: "file", "its name")
            try store.requireAttributes(of: found, ConformanceStore.attributes)
        },
        Case("stat of what is missing fails") { store in
            try await store.write("file", [1])
            try await store.expectNothing(at: "nothing")
            try await store.expectNothing(at: "nothing/below")
            try await store.expectNothing(at: "file/below")
        },
        Case("stat gives the first bytes of a file, too, or none") { store in
            let (provider, count) = (store.provider, 1_000)
            for size in [1, 999, 1_000, 1_001, 100_000] {
                let bytes = store.bytes(size)
                let written = try await store.write("file of \(size)", bytes)
                let start = try await provider.stat(
                    store.key("file of \(size)"), firstBytes: count)
                try require(start.object, equals: written, "the object after writing it")
                try require(
                    start.bytes == Array(bytes.prefix(count)) || start.bytes.isEmpty,
                    "the bytes of \(size) are right")
            }
            try await store.write("empty", [])
            try await store.makeDirectory("directory")
            try await store.write("directory/file", [1])
            for (name, kind) in [("empty", FileKind.file), ("directory", .directory)] {
                let start = try await provider.stat(store.key(name), firstBytes: count)
                try require(start.object.kind, equals: kind, "the kind of \(name)")
                try require(start.bytes, equals: [], "the bytes of \(name)")
            }
            try await store.expect(.missing, of: "the start of what is missing") {
                _ = try await provider.stat(store.key("nothing"), firstBytes: count)
            }
        },
        Case("the first bytes are those of the version") { store in
            for seed in 1...4 {
                let bytes = store.bytes(2_000, seed: UInt64(seed))
                let former = try? await store.provider.stat(store.key("file")).etag
                try await store.write("file", bytes, base: former.map { .version($0) } ?? .absent)
                let start = try await store.provider.stat(store.key("file"), firstBytes: 2_000)
                try require(
                    start.bytes == bytes || start.bytes.isEmpty, "the bytes of \(seed) are right")
                let etag = try store.etag(of: start.object)
                let read = try await store.read("file", etag: etag, range: 0..<2_000)
                try require(read == bytes, "its etag is that of the bytes")
            }
        },
        Case("a probe is answered, and leaves no trace") { store in
            try await store.provider.probe()
            try await store.expectNames([], in: "")
            try await store.write("file", [1])
            try await store.provider.probe()
            try await store.expectNames(["file"], in: "")
        },
        Case("any range of a file can be read") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let etag = try await store.etag(of: store.write("file", bytes))
            let size = bytes.count
            let ranges = [
                0..<1, 0..<size, (size - 1)..<size, 1..<2, (size / 2)..<(size / 2 + 4_096),
                1..<(size - 1),
            ]
            for range in ranges {
                let found = try await store.read(
                    "file", etag: etag, range: UInt64(range.lowerBound)..<UInt64(range.upperBound))
                try require(found == Array(bytes[range]), "the bytes \(range) are right")
            }
        },
        Case("ranges can be read side by side") { store in
            let bytes = store.bytes(1 << 18)
            let etag = try await store.etag(of: store.write("file", bytes))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for start in stride(from: 0, to: bytes.count, by: 1 << 14) {
                    let range = start..<(start + 1 << 14)
                    group.addTask {
                        let found = try await store.read(
                            "file", etag: etag,
                            range: UInt64(range.lowerBound)..<UInt64(range.upperBound))
                        try require(found == Array(bytes[range]), "the bytes \(range) are right")
                    }
                }
                try await group.waitForAll()
            }
        },
        Case("a version that was replaced cannot be read any more") { store in
            for size in [100, 40] {
                let name = "file of \(size)"
                let old = try await store.etag(of: store.write(name, store.bytes(100)))
                try await store.write(name, store.bytes(size, seed: 1), base: .version(old))
                // Of the shorter version, the range is there in part, and not at all.
                for range in [0..<100, 60..<100] as [Range<UInt64>] {
                    try await store.expect(.changed, of: "reading \(range) of the old version") {
                        _ = try await store.read(name, etag: old, range: range)
                    }
                }
            }
        },
        Case("a read gives one version, or fails, when the file is replaced meanwhile") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let etag = try await store.etag(of: store.write("file", bytes))
            let (started, continuation) = AsyncStream<Void>.makeStream()
            let sink = ConformanceSink(start: 0) { _ in continuation.yield() }
            async let replaced: Void = {
                for await _ in started { break }
                let other = store.bytes(bytes.count, seed: 1)
                try await store.write("file", other, base: .version(etag))
            }()
            do {
                try await store.provider.read(
                    store.key("file"), range: 0..<UInt64(bytes.count), etag: etag, into: sink)
                try require(sink.bytes == bytes, "a read that succeeds gives the old version")
            } catch let error as ProviderError {
                let isPassing = error.isPassing || error.kind == .missing
                try require(
                    error.kind == .changed || (isPassing && !store.options.replacesAtOnce),
                    "the read failed as the version changed, not by \(error.kind)")
            }
            try await replaced
        },
        Case("reading what is missing or no file fails") { store in
            let etag = try await store.etag(of: store.write("file", [1, 2, 3]))
            try await store.makeDirectory("directory")
            try await store.expect(.missing, of: "reading what is missing") {
                _ = try await store.read("nothing", etag: etag, range: 0..<1)
            }
            try await store.expect(.wrongKind, .changed, of: "reading a directory") {
                _ = try await store.read("directory", etag: etag, range: 0..<1)
            }
        },
        Case("what a sink throws ends the read, and comes back") { store in
            let etag = try await store.etag(of: store.write("file", store.bytes(100)))
            let sink = ConformanceSink(start: 0) { _ in throw ConformanceRefusal() }
            do {
                try await store.provider.read(
                    store.key("file"), range: 0..<100, etag: etag, into: sink)
                throw ConformanceFailure("the sink refused, and the read succeeded")
            } catch let error as ProviderError {
                try require(error.kind, equals: .sink, "why the read failed")
                try require(error.cause is ConformanceRefusal, "the cause is what the sink threw")
            }
        },
        Case("the free space is known, or known to be unknown") { store in
            if let space = try await store.provider.space() {
                try require(
                    space.availableBytes <= space.freeBytes, "no more may be taken than is free")
                try require(
                    space.freeBytes <= space.totalBytes, "no more is free than there is")
            }
        },
    ]
}

extension ConformanceStore {
    /// Expects of `object` what the store can keep of `attributes`.
    func requireAttributes(of object: RemoteObject, _ attributes: ObjectAttributes) throws {
        let keepsModified = object.kind != .directory || options.keepsModifiedOfDirectories
        if keepsModified, let resolution = provider.traits.modifiedResolution {
            let difference = object.modified.nanoseconds - attributes.modified.nanoseconds
            try require(
                abs(difference) < max(1, resolution.nanoseconds),
                "\"\(object.name)\" has the time \(attributes.modified), not \(object.modified)")
        }
        if provider.traits.keepsMode, object.kind != .symlink {
            try require(object.mode, equals: attributes.mode, "the mode of \"\(object.name)\"")
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
