import Foundation
import Testing

/// Goal: a room of the engine refers only to the rooms below it, as `docs/architecture.md` says.
///
/// Method: reads `Sources/Engine` and looks up each capitalised word outside of comments and string
/// literals among the types that the rooms declare.
@Suite("The rooms of the engine") struct RoomTests {
    /// The rooms, from the lowest to the highest.
    private static let floors = [
        "Model", "World", "Store", "Plan", "Content", "Tree", "Remote", "Transfer", "Pins",
        "Synchroniser", "Engine",
    ]

    /// Returns the rooms that `room` may refer to. No other room may refer to `Check`.
    private static func below(_ room: String) -> Set<String> {
        if room == "Check" { return ["Model", "World", "Store", "Content"] }
        return Set(floors.prefix { $0 != room })
    }

    private let files: [EngineFile]

    init() throws {
        files = try EngineFile.all()
    }

    @Test func `are those that the rule names`() {
        #expect(Set(files.map(\.room)) == Set(Self.floors + ["Check"]))
    }

    @Test func `declare each name once`() {
        let names = files.flatMap(\.types)
        #expect(names.count > 100)
        #expect(Set(names).count == names.count)
    }

    @Test func `refer only to the rooms below them`() {
        let homes = Dictionary(
            files.flatMap { file in file.types.map { ($0, file.room) } },
            uniquingKeysWith: { first, _ in first })
        let wrong = files.flatMap { file in
            let allowed = Self.below(file.room).union([file.room])
            return file.words.sorted().compactMap { word -> String? in
                guard let home = homes[word], !allowed.contains(home) else { return nil }
                return "\(file.path) refers to \(word) in \(home)"
            }
        }
        #expect(wrong == [])
    }
}

/// One source file of the engine.
private struct EngineFile {
    /// Relative to `Sources/Engine`.
    let path: String
    /// The names of the types that it declares outside of other types.
    let types: [String]
    /// The capitalised words in its code.
    let words: Set<String>

    /// Its folder in `Sources/Engine`.
    var room: String { path.split(separator: "/").dropLast().first.map(String.init) ?? "" }

    static func all() throws -> [EngineFile] {
        let folder = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/Engine")
        return try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") }
            .map { path in
                let source = try String(contentsOf: folder.appending(path: path), encoding: .utf8)
                return EngineFile(path: path, code: code(in: source))
            }
    }

    private init(path: String, code: String) {
        self.path = path
        let lines = code.split(separator: "\n").map(Self.words)
        let topLevel = code.split(separator: "\n").filter { $0.first != " " }.map(Self.words)
        words = Set(lines.joined().filter { $0.first?.isUppercase == true })
        types = topLevel.compactMap { words in
            let keyword = words.firstIndex {
                ["struct", "class", "enum", "protocol", "actor", "typealias"].contains($0)
            }
            return keyword.flatMap { words.dropFirst($0 + 1).first }
        }
    }

    private static func words(in line: Substring) -> [String] {
        line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init)
    }

    /// Returns the source with comments and string literals removed.
    private static func code(in source: String) -> String {
        var code: [UInt8] = []
        var rest = Array(source.utf8)[...]
        while let byte = rest.first {
            if rest.starts(with: "//".utf8) {
                rest = rest.drop { $0 != UInt8(ascii: "\n") }
            } else if rest.starts(with: "\"\"\"".utf8) {
                rest = afterLiteral(rest, delimiter: "\"\"\"")
            } else if byte == UInt8(ascii: "\"") {
                rest = afterLiteral(rest, delimiter: "\"")
            } else {
                code.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: code, as: UTF8.self)
    }

    private static func afterLiteral(_ text: ArraySlice<UInt8>, delimiter: String) -> ArraySlice<
        UInt8
    > {
        var rest = text.dropFirst(delimiter.utf8.count)
        while let byte = rest.first, !rest.starts(with: delimiter.utf8) {
            rest = rest.dropFirst(byte == UInt8(ascii: "\\") ? 2 : 1)
        }
        return rest.dropFirst(delimiter.utf8.count)
    }
}
