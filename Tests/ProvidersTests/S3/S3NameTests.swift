import Engine
import Simulation
import Testing

@testable import ProviderS3

@Suite struct S3NameTests {
    private let mark = "\u{241B}"

    /// Letters of which odd parts and names are made.
    private static let letters: [[UInt8]] = [
        Array("\u{241B}".utf8), Array("\u{241B}\u{241B}".utf8), [0x2E], [0], [0xFF], [0xE2], [0x90],
        Array("_".utf8), Array("M".utf8), Array("D".utf8), Array("C".utf8), Array("0".utf8),
        Array("2e".utf8),
        Array("2E".utf8), Array("e2".utf8), Array("a".utf8), Array("%2F".utf8), [0x0A],
        Array("\u{e9}".utf8),
    ]

    private func random(_ generator: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: 0...5, using: &generator)).flatMap { _ in
            Self.letters.randomElement(using: &generator) ?? []
        }
    }

    @Test func `ordinary names are shown as they are`() throws {
        for text in [
            "a", "a b", "100%", "%2F", "...", "caf\u{e9}", "a\nb", "a\(mark)b", mark, "\(mark)_",
        ] {
            let part = Array(text.utf8)
            let name = try #require(S3Name(part: part).name)
            #expect(name.bytes == part, "\(text)")
            #expect(S3Name(name) == S3Name(part: part))
        }
    }

    @Test(arguments: [
        ("", "\u{241B}M"), ("\u{241B}M", "\u{241B}\u{241B}M"), (".", "\u{241B}2e"),
        ("..", "\u{241B}2e\u{241B}2e"),
        ("a\0b", "a\u{241B}00b"), ("\u{241B}2e", "\u{241B}\u{241B}2e"),
    ])
    func `invalid names are shown with escapes`(part: String, shown: String) throws {
        let name = try #require(S3Name(part: Array(part.utf8)).name)
        #expect(name.description == shown)
        #expect(S3Name(name).part == Array(part.utf8))
    }

    /// Goal: no two parts have one name, and no two names mean one part.
    ///
    /// Method: there and back again, from random parts and from random names.
    @Test func `each part has one name and each name one part`() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<20_000 {
            let part = random(&generator)
            guard !part.contains(S3Key.slash) else { continue }
            for form in [S3Name.Form.whole, .besideFile] {
                let name = try #require(S3Name(part: part, form: form).name)
                #expect(S3Name(name) == S3Name(part: part, form: form), "\(part) as \(name)")
            }
            guard let name = FileName(part) else { continue }
            #expect(S3Name(name).name == name, "\(name.bytes)")
        }
    }

    /// `/a` in a bucket that is mounted as a whole.
    @Test func `a key that begins with a slash is in a directory, which is not a file`() throws {
        let name = try #require(S3Name(part: [], form: .besideFile).name)
        let key = ObjectKey([name, try #require(FileName("a"))])
        let (map, parent) = (S3KeyMap(prefix: S3Key("")), try #require(key.parent))
        #expect(map.place(of: parent).file == nil)
        #expect(map.place(of: parent).directory == S3Key("/"))
        #expect(map.place(of: key).file == S3Key("/a"))
        let bytes = ObjectKey([try #require(S3Name(part: []).name)])
        #expect(map.place(of: bytes).file == nil)
        let place = S3KeyMap(prefix: S3Key("p/")).place(of: bytes)
        #expect(place.file == S3Key("p/") && place.isMarkerBytes)
    }

    @Test func `a part that is too long starts a directory and continues below`() throws {
        let part = Array(String(repeating: "\u{e9}", count: 300).utf8)
        #expect(S3Name(part: part).name == nil)
        let beginning = S3Name.beginning(of: part)
        let name = try #require(beginning.name)
        #expect(S3Name(name) == beginning)
        #expect(String(validating: beginning.part, as: UTF8.self) != nil)
        #expect(part.starts(with: beginning.part))

        let map = S3KeyMap(prefix: S3Key("p/"))
        let rest = S3Name.beginning(of: part.dropFirst(beginning.part.count))
        let last = part.dropFirst(beginning.part.count + rest.part.count)
        let names = try [name, #require(rest.name), #require(FileName(Array(last)))]
        let place = map.place(of: ObjectKey(names))
        #expect(place.file == S3Key(Array("p/".utf8) + part))
        #expect(map.place(of: ObjectKey([name])).isBeginning)
    }
}

@Suite struct S3ListingFoldTests {
    private let map = S3KeyMap(prefix: S3Key("p/"))

    /// What a store would answer for `directory`, in pages of `count` keys.
    private func pages(_ keys: [String], below directory: S3Key, count: Int) -> [S3Listing] {
        let prefix = directory.bytes
        var seen: Set<S3Key> = []
        var items: [(key: S3Key, isPrefix: Bool)] = []
        let below = keys.map { Array($0.utf8) }.filter { $0.starts(with: prefix) }
        for key in below.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let rest = key.dropFirst(prefix.count)
            if let slash = rest.firstIndex(of: S3Key.slash) {
                let common = S3Key(Array(key[...slash]))
                if seen.insert(common).inserted { items.append((common, true)) }
            } else {
                items.append((S3Key(key), false))
            }
        }
        return stride(from: 0, to: max(1, items.count), by: count).map { start in
            var page = S3Listing()
            for item in items[start..<min(start + count, items.count)] {
                if item.isPrefix {
                    page.prefixes.append(item.key)
                } else {
                    let size: UInt64 =
                        item.key.bytes.last == S3Key.slash
                            || item.key.description.hasSuffix("_$folder$") ? 0 : 1
                    page.objects.append(
                        S3Listing.Object(
                            key: item.key, etag: ETag("e"), size: size,
                            modified: Timestamp(nanoseconds: 0)))
                }
            }
            return page
        }
    }

    /// Everything below the root, by walking it as the engine does.
    private func walk(_ keys: [String], count: Int) throws -> [String] {
        var found: [String] = []
        var directories = [ObjectKey.root]
        while let directory = directories.popLast() {
            let place = map.place(of: directory)
            var names: [FileName] = []
            var seen: [S3ListingFold.Seen] = []
            for page in pages(keys, below: place.directory, count: count) {
                let start = try S3PageToken(
                    S3PageToken(token: "t", seen: seen).pageToken)
                var fold = S3ListingFold(place, seen: start.seen)
                fold.add(page)
                seen = fold.seen
                for entry in fold.entries {
                    names.append(entry.name)
                    let key = directory.appending(entry.name)
                    if let object = entry.object {
                        found.append(object.key.description)
                        // The path leads to the very object that was listed.
                        #expect(map.place(of: key).file == object.key)
                    } else {
                        directories.append(key)
                    }
                }
            }
            #expect(Set(names).count == names.count, "a name twice in \(directory)")
        }
        return found.sorted()
    }

    @Test(arguments: [1, 2, 3, 1_000])
    func `every object is shown exactly once, with any key`(count: Int) throws {
        let long = String(repeating: "x", count: 300)
        let keys = [
            "p/a", "p/a!", "p/a/b", "p/a//b", "p/a//", "p/./x", "p/../x", "p/..", "p/d/",
            "p/both", "p/both-more", "p/both/below", "p//", "p//x", "p/" + long, "p/" + long + "y",
            "p/" + long + "/z", "p/" + String(repeating: "x", count: 250), "p/%2F", "p/\u{241B}2e",
            "p/" + String(repeating: long, count: 3), "p/nul\0", "p/e/f/", "p/g_$folder$",
        ]
        let files = keys.filter { !$0.hasSuffix("/") && !$0.hasSuffix("_$folder$") }
        #expect(try walk(keys, count: count) == files.sorted())
    }

    @Test(arguments: [1, 1_000])
    func `a directory with a marker of either kind is shown once`(count: Int) throws {
        let keys = ["p/a/", "p/a/x", "p/a0", "p/a_$folder$", "p/b_$folder$"]
        var names: [String] = []
        var seen: [S3ListingFold.Seen] = []
        for page in pages(keys, below: S3Key("p/"), count: count) {
            var fold = S3ListingFold(map.place(of: .root), seen: seen)
            fold.add(page)
            seen = fold.seen
            names += fold.entries.map { "\($0.name)\($0.object == nil ? "/" : "")" }
        }
        #expect(names.sorted() == ["a/", "a0", "b/"])
    }

    @Test func `an invalid listing leads to no other directory`() {
        var page = S3Listing()
        page.prefixes = ["p/../", "q/x/", "p/a/b/", "p/noslash", "/etc/"].map { S3Key($0) }
        page.objects = ["p/a/b", "../p/x", "q", "p/", "/etc/passwd"].map { key in
            S3Listing.Object(
                key: S3Key(key), etag: ETag("e"), size: 1, modified: Timestamp(nanoseconds: 0))
        }
        var fold = S3ListingFold(map.place(of: .root))
        fold.add(page)
        let names = fold.entries.map(\.name.description).sorted()
        #expect(names == ["\u{241B}2e\u{241B}2e", "\u{241B}M"])
    }
}
