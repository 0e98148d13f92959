import Engine
import Synchronization
import TestBytes

/// A provider with an empty store, and what every case does with it.
package struct ConformanceStore: Sendable {
    let provider: any Provider
    let options: ConformanceOptions
    private let versions = ConformanceCounter()

    init(provider: any Provider, options: ConformanceOptions) {
        self.provider = provider
        self.options = options
    }

    /// A time that every store can keep, and that is not now.
    static let modified = Timestamp(seconds: 1_600_000_000)
    static let attributes = ObjectAttributes(modified: modified, mode: 0o644)
    static let directoryAttributes = ObjectAttributes(modified: modified, mode: 0o755)

    // MARK: Names and bytes

    func key(_ path: String) throws -> ObjectKey {
        try ObjectKey(path.split(separator: "/").map { try name(Array($0.utf8)) })
    }

    func name(_ bytes: [UInt8]) throws -> FileName {
        guard let name = FileName(bytes) else { throw ConformanceFailure("no name: \(bytes)") }
        return name
    }

    func bytes(_ count: Int, seed: UInt64 = 0) -> [UInt8] { TestBytes.random(count, seed: seed) }

    // MARK: Changing

    @discardableResult
    func write(
        _ path: String, _ bytes: [UInt8], base: BaseVersion = .absent
    ) async throws -> RemoteObject {
        try await provider.write(
            key(path), from: ConformanceSource(bytes: bytes), attributes: attributesOfNextVersion(),
            base: base, session: UntrackedUpload())
    }

    /// Those of ``attributes`` for the first version, and for all where that is enough.
    func attributesOfNextVersion() -> ObjectAttributes {
        guard !options.tellsVersionsOfOneTime else { return Self.attributes }
        var attributes = Self.attributes
        attributes.modified = Timestamp(
            seconds: Self.modified.seconds + Int64(versions.next()))
        return attributes
    }

    @discardableResult
    func makeDirectory(_ path: String) async throws -> RemoteObject {
        try await provider.createDirectory(key(path), attributes: Self.directoryAttributes)
    }

    // MARK: Looking

    func etag(of object: RemoteObject) throws -> ETag {
        guard let etag = object.etag else {
            throw ConformanceFailure("the file \"\(object.name)\" has no etag")
        }
        return etag
    }

    /// Reads a whole file, or a range of it.
    func read(_ path: String, etag: ETag, range: Range<UInt64>) async throws -> [UInt8] {
        let sink = ConformanceSink(start: range.lowerBound)
        try await provider.read(key(path), range: range, etag: etag, into: sink)
        try require(sink.isOrdered, "the bytes arrive in order, each once")
        return sink.bytes
    }

    func read(_ path: String) async throws -> [UInt8] {
        let object = try await provider.stat(key(path))
        if object.size == 0 { return [] }
        return try await read(path, etag: etag(of: object), range: 0..<object.size)
    }

    func pages(of path: String) async throws -> [[RemoteObject]] {
        var pages: [[RemoteObject]] = []
        let cursor = try provider.entries(of: key(path))
        var page: ListingPage
        repeat {
            page = try await cursor.next()
            pages.append(page.objects)
        } while !page.isLast
        return pages
    }

    func list(_ path: String) async throws -> [RemoteObject] {
        try await pages(of: path).flatMap(\.self).sorted { $0.name < $1.name }
    }

    // MARK: Expecting

    /// Expects a call to fail with one of `kinds`.
    func expect(
        _ kinds: ProviderError.Kind..., of what: String,
        _ call: () async throws -> Void
    ) async throws {
        do {
            try await call()
        } catch let error as ProviderError {
            guard kinds.contains(error.kind) else {
                throw ConformanceFailure(
                    "\(what): expected \(kinds), found \(error.kind) (\(error.attempt): \(error.reason))"
                )
            }
            return
        }
        throw ConformanceFailure("\(what): expected \(kinds), and it succeeded")
    }

    /// Expects `listed` to show the same as a look at each object alone, or as much of it as a
    /// listing that lacks details has to.
    func expect(_ listed: [RemoteObject], shows objects: [RemoteObject]) throws {
        try require(listed.map(\.name), equals: objects.map(\.name), "the names in the listing")
        for (listed, object) in zip(listed, objects) {
            guard !listed.hasMetadata else {
                try require(listed, equals: object, "\"\(object.name)\" in the listing")
                continue
            }
            let isLinkAsFile = object.kind == .symlink && listed.kind == .file
            try require(
                listed.kind == object.kind || isLinkAsFile,
                "\"\(object.name)\" in the listing is no \(listed.kind)")
            // Of a link that is listed as a file, only the version tells a change.
            if listed.kind == .file {
                try require(listed.etag, equals: object.etag, "its etag")
            }
            if object.kind == .file {
                try require(listed.size, equals: object.size, "its size")
            }
        }
    }

    func expectNothing(at path: String) async throws {
        try await expect(.missing, of: "stat of \"\(path)\"") {
            _ = try await provider.stat(key(path))
        }
    }

    func expect(_ bytes: [UInt8], at path: String) async throws {
        let found = try await read(path)
        try require(found == bytes, "\"\(path)\" holds the right \(bytes.count) bytes")
    }

    func expectNames(_ names: [String], in path: String) async throws {
        let found = try await list(path).map(\.name.description)
        try require(found, equals: names.sorted(), "the names in \"\(path)\"")
    }
}

/// A task that can be cancelled by what it calls.
final class ConformanceTask<Value: Sendable>: Sendable {
    private let task = Mutex<Task<Value, any Error>?>(nil)

    /// Runs `body` as a task of its own, so that ``cancel()`` ends it and not the test.
    func run(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let (start, startNow) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in start { break }
            return try await body()
        }
        self.task.withLock { $0 = task }
        startNow.finish()
        return try await task.value
    }

    func cancel() {
        task.withLock { $0 }?.cancel()
    }
}

/// Counts from 0.
private final class ConformanceCounter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            defer { count += 1 }
            return count
        }
    }
}
