import Engine
import Glibc

extension ProviderConformance {
    /// What takes long, and gigabytes of room: not among ``cases``.
    package static let largeCases = [
        Case("a file of 5 GiB and a byte keeps every byte in its place") { store in
            let source = ConformanceSparseSource(size: (5 << 30) + 1)
            let written = try await store.provider.write(
                store.key("large"), from: source, attributes: ConformanceStore.attributes,
                base: .absent, session: UntrackedUpload())
            try require(written.size, equals: source.size, "the size of what was written")
            let seen = try await store.provider.stat(store.key("large"))
            try require(seen.size, equals: source.size, "the size of what is there")
            for mark in source.marks {
                let range = mark &- min(mark, 20)..<min(mark + 20, source.size)
                let bytes = try await store.read(
                    "large", etag: store.etag(of: written), range: range)
                try require(bytes, equals: source.bytes(range), "the bytes in \(range)")
            }
        },
        Case("a directory of very many entries is listed whole, each once") { store in
            let names = (0..<store.options.entriesOfLargeDirectory).map { "entry \($0)" }
            try await repeated { _ = try await store.makeDirectory("many") }
            if let fill = store.options.fillDirectory {
                try fill("many", names)
            } else {
                try await write(names, in: "many", of: store)
            }
            var found: [String] = []
            for page in try await repeated({ try await store.pages(of: "many") }) {
                found += page.map(\.name.description)
            }
            try require(found.count, equals: names.count, "the number of names")
            try require(found.sorted() == names.sorted(), "the names are those that were made")
        },
    ]

    /// Empty files, many at a time.
    private static func write(
        _ names: [String], in directory: String, of store: ConformanceStore
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, name) in names.enumerated() {
                if index >= 16 { try await group.next() }
                group.addTask { try await write("\(directory)/\(name)", of: store) }
            }
            try await group.waitForAll()
        }
    }

    /// It may have been written although the server said otherwise.
    private static func write(_ path: String, of store: ConformanceStore) async throws {
        try await repeated {
            do {
                try await store.write(path, [])
            } catch let error as ProviderError where [.changed, .exists].contains(error.kind) {
            }
        }
    }

    /// Repeats a request that an overloaded server has failed to answer, after a growing pause, as the engine
    /// does.
    private static func repeated<Result: Sendable>(
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        for attempt in 0..<6 {
            do {
                return try await body()
            } catch let error as ProviderError where error.kind == .unreachable {
                print("attempt \(attempt): \(error)")
                try await Task.sleep(for: .milliseconds(100 << attempt))
            }
        }
        return try await body()
    }
}

/// Many zeros, with a mark wherever a number of 31, 32 or 33 bits, or a size of parts, ends.
struct ConformanceSparseSource: ByteSource {
    let size: UInt64

    /// Where a byte is not zero, ascending.
    var marks: [UInt64] {
        [0, 16 << 20, 1 << 31, 1 << 32, 5 << 30].filter { $0 < size }
    }

    func bytes(_ range: Range<UInt64>) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        for (index, mark) in marks.enumerated() where range.contains(mark) {
            bytes[Int(mark - range.lowerBound)] = UInt8(index + 1)
        }
        return bytes
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let end = min(size, offset + UInt64(buffer.count))
        guard offset < end, let base = buffer.baseAddress else { return 0 }
        memset(base, 0, Int(end - offset))
        for (index, mark) in marks.enumerated() where (offset..<end).contains(mark) {
            buffer[Int(mark - offset)] = UInt8(index + 1)
        }
        return Int(end - offset)
    }
}
