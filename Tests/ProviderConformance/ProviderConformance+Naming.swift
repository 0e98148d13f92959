import Engine

extension ProviderConformance {
    static let namingCases = [
        Case("odd names are names like any other") { store in
            let names = [
                "-rf", ".hidden", "...", " ", "a b", "100%", "%41", "%2F", "a?b", "a#b", "a&b=c+d",
                "a\nb", "a\\b", "a:b", "a\"b'c", "*", "~", "caf\u{e9}", "cafe\u{301}", "\u{1F426}",
                "A", "a", String(repeating: "x", count: 255), "a\u{1}b", "a;b", "con", "end.",
                "\u{241B}_", "\u{241B}",
            ]
            let kept = store.kept(names)
            for name in kept { try await store.expectRoundTrip(Array(name.utf8)) }
            for name in store.options.refusedNames {
                try await store.expect(.unsupported, of: "writing \"\(name)\"") {
                    try await store.expectRoundTrip(Array(name.utf8))
                }
            }
            let found = try await store.list("").map(\.name.bytes)
            let expected = kept.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
            try require(found, equals: expected, "the names in the listing, as bytes")
        },
        Case("names that are no UTF-8 are kept as bytes, or refused") { store in
            let name: [UInt8] = [0x61, 0xFF, 0xC3, 0x28]
            if store.options.keepsAnyBytesInNames {
                return try await store.expectRoundTrip(name)
            }
            try await store.expect(.unsupported, of: "writing it") {
                try await store.expectRoundTrip(name)
            }
        },
        Case("odd names name directories too") { store in
            let names = store.kept(["%2e", "a b", "caf\u{e9}", "cafe\u{301}", "-", "\u{241B}_"])
            for name in names {
                try await store.makeDirectory(name)
                try await store.write("\(name)/file", Array(name.utf8))
            }
            for name in names { try await store.expect(Array(name.utf8), at: "\(name)/file") }
            try await store.expectNames(names, in: "")
        },
        Case("names of other case or form are told apart as the traits say") { store in
            let names = store.provider.traits.names
            let forms =
                [("Case", "cASE")]
                + (store.options.tellsNormalFormsApart
                    ? [("caf\u{e9}", "cafe\u{301}")] : [])
            for (text, other) in forms {
                let keys = try [text, other].map { ObjectKey([try store.name(Array($0.utf8))]) }
                try await store.expectRoundTrip(Array(text.utf8))
                let written = try await store.provider.stat(keys[0])
                guard names.key(of: keys[0]) == names.key(of: keys[1]) else {
                    try await store.expect(.missing, of: "asking for \"\(other)\"") {
                        _ = try await store.provider.stat(keys[1])
                    }
                    try await store.expectRoundTrip(Array(other.utf8))
                    let kept = try await store.provider.stat(keys[0])
                    try require(kept, equals: written, "the object beside it")
                    continue
                }
                let found = try await store.provider.stat(keys[1])
                try require(found.etag, equals: written.etag, "the version under \"\(other)\"")
                try await store.expect(.exists, of: "writing \"\(other)\"") {
                    try await store.expectRoundTrip(Array(other.utf8))
                }
            }
        },
        Case("a tree may be deep") { store in
            var path = ""
            for depth in 0..<40 {
                let name = "directory \(depth) " + String(repeating: "d", count: 100)
                guard path.utf8.count + name.utf8.count < store.options.pathBytesMax else { break }
                path += (path.isEmpty ? "" : "/") + name
                try await store.makeDirectory(path)
            }
            try await store.write("\(path)/file", [1])
            try await store.expect([1], at: "\(path)/file")
        },
    ]
}

extension ConformanceStore {
    /// Those of `names` that the store can hold side by side.
    fileprivate func kept(_ names: [String]) -> [String] {
        var keys: Set<FileName> = []
        return names.filter { name in
            guard let key = FileName(name).map(provider.traits.names.key(of:)),
                keys.insert(key).inserted
            else { return false }
            let isDecomposed = name.unicodeScalars.contains("\u{301}")
            return !options.refusedNames.contains(name)
                && (options.tellsNormalFormsApart || !isDecomposed)
        }
    }

    /// Writes and reads a file of this name whose content is the name.
    func expectRoundTrip(_ bytes: [UInt8]) async throws {
        let key = ObjectKey([try name(bytes)])
        let written = try await provider.write(
            key, from: ConformanceSource(bytes: bytes), attributes: Self.attributes, base: .absent,
            session: UntrackedUpload())
        try require(written.name.bytes, equals: bytes, "the name of the new object")
        let found = try await provider.stat(key)
        try require(found, equals: written, "the object")
        let sink = ConformanceSink(start: 0)
        try await provider.read(
            key, range: 0..<UInt64(bytes.count), etag: etag(of: found), into: sink)
        try require(sink.bytes, equals: bytes, "the bytes of \"\(key)\"")
    }
}
