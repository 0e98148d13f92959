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
            try await store.makeDirectory("many")
            if let fill = store.options.fillDirectory {
                try fill("many", names)
            } else {
                try await write(names, in: "many", of: store)
            }
            var found: [String] = []
            for page in try await store.pages(of: "many") {
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

    /// Repeats what an overloaded server has refused, as the engine does; it may have done it all the same.
    private static func write(_ path: String, of store: ConformanceStore) async throws {
        for _ in 0..<5 {
            do {
                try await store.write(path, [])
                return
            } catch let error as ProviderError where [.changed, .exists].contains(error.kind) {
                return
            } catch let error as ProviderError where error.kind == .unreachable {
                continue
            }
        }
        try await store.write(path, [])
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
