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
        Case("a write is recognised, and a file of the same size and time is not taken for it") {
            store in
            let upload = WatchedUpload(nonce: WriteNonce("0123456789abcdef"))
            let attributes = ConformanceStore.attributes
            let (bytes, others) = (store.bytes(100), store.bytes(100, seed: 1))
            let made = try await store.provider.write(
                store.key("file"), from: ConformanceSource(bytes: bytes), attributes: attributes,
                base: .absent, session: upload)
            let found = try await store.provider.stat(store.key("file"))
            if store.provider.traits.recognisesWrites {
                try require(upload.isProven(by: found, store.provider), "it is recognised")
            } else {
                try require(
                    upload.isProofKept || upload.isProven(by: found, store.provider),
                    "a proof is kept")
            }
            let moved = try await store.provider.move(
                store.key("file"), etag: store.etag(of: made), to: store.key("moved"), base: .absent
            )
            try require(
                moved.nonce == found.nonce || moved.etag == found.etag, "a move keeps the proof")
            guard store.options.tellsVersionsOfOneTime else { return }
            for base in [BaseVersion.absent, .version(try store.etag(of: moved))] {
                let path = base == .absent ? "file" : "moved"
                _ = try await store.provider.write(
                    store.key(path), from: ConformanceSource(bytes: others),
                    attributes: attributes, base: base, session: UntrackedUpload())
                let other = try await store.provider.stat(store.key(path))
                try require(
                    !upload.isProven(by: other, store.provider), "\"\(path)\" is not that upload")
            }
        },
        Case("a write that announces its version does so before the bytes are visible") { store in
            guard store.provider.traits.announcesWrites else { return }
            try require(store.provider.traits.recognisesWrites, "that recognises them")
            // More than one piece, and a small file.
            for (index, count) in [3_000_000, 100, 0].enumerated() {
                let path = "file\(index)"
                let write = { (bytes: [UInt8], base: BaseVersion, session: WatchedUpload) in
                    try await store.provider.write(
                        store.key(path), from: ConformanceSource(bytes: bytes),
                        attributes: ConformanceStore.attributes, base: base, session: session)
                }
                try await store.expect(.source, of: "creating without leave") {
                    _ = try await write(store.bytes(count), .absent, WatchedUpload(refuses: true))
                }
                try await store.expectNothing(at: path)
                let upload = WatchedUpload()
                let first = try await write(store.bytes(count), .absent, upload)
                try require(upload.expected, equals: first.etag, "the etag that was announced")
                try await store.expect(.source, of: "replacing without leave") {
                    _ = try await write(
                        store.bytes(50, seed: 1), .version(store.etag(of: first)),
                        WatchedUpload(refuses: true))
                }
                try await store.expect(store.bytes(count), at: path)
            }
            try await store.expectNames(["file0", "file1", "file2"], in: "")
        },
        Case("new attributes keep the proof of the bytes") { store in
            let upload = WatchedUpload(nonce: WriteNonce("0123456789abcdef"))
            let made = try await store.provider.write(
                store.key("file"), from: ConformanceSource(bytes: store.bytes(100)),
                attributes: ConformanceStore.attributes, base: .absent, session: upload)
            guard store.provider.traits.recognisesWrites else { return }
            var attributes = ConformanceStore.attributes
            attributes.modified = Timestamp(seconds: attributes.modified.seconds + 1)
            let touched = try await store.provider.setAttributes(
                store.key("file"), to: attributes, only: .modified, etag: made.etag,
                nonce: upload.nonce)
            let (former, etag) = (try store.etag(of: made), try store.etag(of: touched))
            try require(
                touched.nonce.map { $0 == upload.nonce }
                    ?? (etag == former || store.provider.hasSameBytes(former, as: etag)),
                "the bytes are known to be the same")
            let other = try await store.provider.write(
                store.key("other"), from: ConformanceSource(bytes: store.bytes(100, seed: 1)),
                attributes: attributes, base: .absent, session: UntrackedUpload())
            try require(
                !store.provider.hasSameBytes(former, as: try store.etag(of: other)),
                "another file of the same size and time is not")
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

/// An upload whose progress and expected etag are noted.
private final class WatchedUpload: UploadSession {
    struct Refusal: Error {}

    let nonce: WriteNonce?
    /// Whether the bytes must not become visible.
    private let refuses: Bool
    private let seen = Mutex<[UInt64]>([])
    private let announced = Mutex<ETag?>(nil)
    private let proofs = Mutex(0)

    init(nonce: WriteNonce? = nil, refuses: Bool = false) {
        self.nonce = nonce
        self.refuses = refuses
    }

    var reports: [UInt64] { seen.withLock { $0 } }
    var token: UploadToken? { nil }
    var expected: ETag? { announced.withLock { $0 } }

    func keep(_ token: UploadToken?) {}

    func expect(_ etag: ETag) throws {
        if refuses { throw Refusal() }
        announced.withLock { $0 = etag }
    }

    var isProofKept: Bool { proofs.withLock { $0 > 0 } }

    func keepProof() { proofs.withLock { $0 += 1 } }

    /// Whether an object proves to have the bytes of this upload.
    func isProven(by object: RemoteObject, _ provider: any Provider) -> Bool {
        if let expected, let etag = object.etag { return provider.isSame(expected, as: etag) }
        return nonce != nil && object.nonce == nonce
    }

    func noteSent(_ bytes: UInt64) {
        seen.withLock { $0.append(bytes) }
    }
}
