import Testing

@testable import Engine

@Suite("Patterns of --exclude")
struct ExclusionPatternTests {
    /// - Parameter path: That of a directory if it ends with a slash.
    private func contains(_ patterns: [String], _ path: String) throws -> Bool {
        let exclusions = Exclusions(try patterns.map { try ExclusionPattern($0) })
        let names = path.split(separator: "/").compactMap { FileName(Array($0.utf8)) }
        return exclusions.contain(names, isDirectory: path.hasSuffix("/"))
    }

    @Test(arguments: [
        (".DS_Store", ".DS_Store"), (".DS_Store", "a/b/.DS_Store"), (".DS_Store", ".DS_Store/x"),
        ("~$*", "Letters/~$letter.docx"), ("*", ".hidden"), ("*.tm?", "a.tmp"), ("[a-c]1", "b1"),
        ("[!a-c]1", "d1"), (#"\*"#, "*"), (#"\!a"#, "!a"), ("a b", "x/a b"), ("*~", "é~"),
        ("node_modules/", "web/node_modules/"), ("node_modules/", "web/node_modules/x/y.js"),
        ("/build", "build"), ("/build", "build/x"), ("build/*.o", "build/a.o"),
        ("a/**", "a/b"), ("a/**", "a/b/c"), ("**/b", "b"), ("**/b", "a/b"), ("a/**/z", "a/z"),
        ("a/**/z", "a/b/c/z"), ("**/a/b", "x/a/b"), ("a/b/", "a/b/"),
    ])
    func `stand for names and paths`(pattern: String, path: String) throws {
        #expect(try contains([pattern], path))
        #expect(try contains(["else", pattern], path))
    }

    @Test(arguments: [
        (".DS_Store", ".DS_Store2"), (".DS_Store", ".ds_store"), ("~$*", "letter~$.docx"),
        ("*.tmp", "a.tmp.txt"), ("[a-c]1", "d1"), (#"\*"#, "a"), ("node_modules/", "node_modules"),
        ("/build", "a/build"), ("build/*.o", "a/build/a.o"), ("build/*.o", "build/x/a.o"),
        ("a/**", "a/"), ("a/b", "a/"), ("a/**/z", "a/b"), ("a*b", "a/b"),
    ])
    func `do not stand for others`(pattern: String, path: String) throws {
        #expect(try !contains([pattern], path))
    }

    @Test(arguments: ["", "/", "//", ".", "..", "a/../b", "./a", "!keep", "a\nb"])
    func `without a meaning are refused`(pattern: String) {
        #expect(throws: ExclusionPattern.Refusal.self) { try ExclusionPattern(pattern) }
    }

    @Test func `no patterns exclude nothing`() throws {
        #expect(try !contains([], "a"))
    }
}
