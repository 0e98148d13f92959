import Engine
import Synchronization

extension ProviderConformance {
    static let writingCases = [
        Case("files of any size are stored whole") { store in
            for count in [0, 1, 4_096, 65_537, store.options.bytesOfSeveralPieces + 1] {
                let bytes = store.bytes(count)
                let object = try await store.write("\(count)", bytes)
                try require(object.size, equals: UInt64(count), "the size of the new object")
                try await store.expect(bytes, at: "\(count)")
            }
        },
        Case("progress ascends to the size") { store in
            let bytes = store.bytes(store.options.bytesOfSeveralPieces)
            let upload = WatchedUpload()
            _ = try await store.provider.write(
                store.key("file"), from: ConformanceSource(bytes: bytes),
                attributes: ConformanceStore.attributes, base: .absent,
                session: upload)
            let reports = upload.reports
            try require(reports == reports.sorted(), "\(reports) ascends")
            try require(reports.last ?? 0 <= UInt64(bytes.count), "no more goes out than there is")
        },
        Case("creating what exists fails and changes nothing") { store in
            try await store.write("file", [1])
            try await store.makeDirectory("directory")
            for path in ["file", "directory"] {
                try await store.expect(.exists, of: "creating \"\(path)\"") {
                    try await store.write(path, [2])
                }
            }
            try await store.expect([1], at: "file")
        },
        Case("a file is replaced if its base is the version there") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            let second = try await store.etag(
                of: store.write("file", [2, 2], base: .version(first)))
            try require(first != second, "another version has another etag")
            try await store.expect([2, 2], at: "file")
            try await store.expectNames(["file"], in: "")
        },
        Case("a file is not replaced if its base is another version") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            try await store.write("file", [2], base: .version(first))
            try await store.expect(.changed, of: "replacing by an old base") {
                try await store.write("file", [3], base: .version(first))
            }
            try await store.expect([2], at: "file")
        },
        Case("replacing what is missing or a directory fails") { store in
            let etag = try await store.etag(of: store.write("file", [1]))
            try await store.makeDirectory("directory")
            try await store.expect(.missing, of: "replacing what is missing") {
                try await store.write("nothing", [2], base: .version(etag))
            }
            try await store.expect(.changed, .wrongKind, of: "replacing a directory") {
                try await store.write("directory", [2], base: .version(etag))
            }
            try await store.expectNames(["directory", "file"], in: "")
        },
        Case("nothing is made in a directory that is missing") { store in
            try await store.write("file", [1])
            for parent in ["nothing", "nothing/below", "file"] {
                try await store.expect(.missing, of: "writing in \"\(parent)\"") {
                    try await store.write("\(parent)/new", [1])
                }
                try await store.expect(.missing, of: "a directory in \"\(parent)\"") {
                    try await store.makeDirectory("\(parent)/new")
                }
            }
        },
        Case("versions of the same size and time have different etags") { store in
            guard store.options.tellsVersionsOfOneTime else { return }
            var etags: [ETag] = []
            var base = BaseVersion.absent
            for seed in 0..<12 {
                let object = try await store.write(
                    "file", store.bytes(100, seed: UInt64(seed)), base: base)
                etags.append(try store.etag(of: object))
                base = .version(try store.etag(of: object))
            }
            try require(Set(etags).count, equals: etags.count, "different etags among \(etags)")
        },
        Case("an etag stays while nothing changes") { store in
            let written = try await store.write("file", store.bytes(100))
            for _ in 0..<3 {
                _ = try await store.read("file")
                let found = try await store.provider.stat(store.key("file"))
                try require(found.etag, equals: written.etag, "the etag")
            }
        },
        Case("exactly one of many writers with the same base wins") { store in
            let first = try await store.etag(of: store.write("file", store.bytes(1_000)))
            try await store.expectOneWinner("file", base: .version(first), loses: .changed)
        },
        Case("exactly one of many writers who create wins") { store in
            try await store.expectOneWinner("file", base: .absent, loses: .exists)
        },
        Case("repeating a write that has happened tells so") { store in
            let first = try await store.etag(of: store.write("file", [1]))
            try await store.expect(.exists, of: "creating again") {
                try await store.write("file", [1])
            }
            let second = try await store.write("file", [2], base: .version(first))
            try await store.expect(.changed, of: "replacing again") {
                try await store.write("file", [2], base: .version(first))
            }
            let found = try await store.provider.stat(store.key("file"))
            try require(found.etag, equals: second.etag, "the etag of the first try")
        },
    ]
}

extension ConformanceStore {
    func expectOneWinner(
        _ path: String, base: BaseVersion, loses loss: ProviderError.Kind
    ) async throws {
        let outcomes = try await withThrowingTaskGroup(
            of: (seed: UInt64, object: RemoteObject?).self
        ) { group in
            for seed in 1...8 as ClosedRange<UInt64> {
                group.addTask {
                    do {
                        return (seed, try await write(path, bytes(1_000, seed: seed), base: base))
                    } catch let error as ProviderError {
                        try require(error.kind, equals: loss, "why a writer lost")
                        return (seed, nil)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let winners = outcomes.filter { $0.object != nil }
        try require(winners.count, equals: 1, "the number of winners")
        guard let winner = winners.first, let made = winner.object else { return }
        try await expect(bytes(1_000, seed: winner.seed), at: path)
        let found = try await provider.stat(key(path))
        try require(found, equals: made, "the object there, and the winner's")
        try await expectNames([path], in: "")
    }
}

/// An upload whose progress is noted.
private final class WatchedUpload: UploadSession {
    private let seen = Mutex<[UInt64]>([])

    var reports: [UInt64] { seen.withLock { $0 } }
    var token: UploadToken? { nil }

    func keep(_ token: UploadToken?) {}

    func noteSent(_ bytes: UInt64) {
        seen.withLock { $0.append(bytes) }
    }
}
