import Foundation
import Testing

/// The commands of docs/guide.md, in their order.
///
/// A block of commands is fenced as `sh`. Comments of HTML directly above it say how it is run, see
/// ``Block``; a block fenced as `text` after it is its output. Each heading of level 2 or 3 begins a section.
struct Guide: Sendable {
    struct Section: Sendable, CustomTestStringConvertible {
        /// The number of the heading of level 2 that it belongs to; 0 without one.
        let chapter: Int
        let title: String
        var blocks: [Block] = []

        var testDescription: String { title }
    }

    /// Commands, which are run by one shell.
    struct Block: Sendable {
        let line: Int
        let commands: String
        /// `not run: REASON`.
        var reasonNotToRun: String?
        /// `meanwhile: EVENT`, any number of times.
        var events: [String] = []
        /// `ends with STATUS`: that of the last command.
        var status: Int32 = 0
        /// nil for any output.
        var output: String?

        var place: String { "docs/guide.md, line \(line)" }
    }

    struct Mistake: Error {
        let line: Int
        let problem: String
    }

    private(set) var sections: [Section] = []
    private var chapter = 0
    private var comments: [String] = []
    /// Whether the next block may be an output.
    private var isAfterCommands = false

    static let current: Guide = {
        do {
            return try Guide(parsing: String(contentsOf: file, encoding: .utf8))
        } catch {
            preconditionFailure("\(file.path()): \(error)")
        }
    }()

    private static let file = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/guide.md")

    /// - Throws: ``Mistake``.
    init(parsing text: String) throws {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var index = 0
        while index < lines.count {
            let line = lines[index]
            guard line.hasPrefix("```") else {
                try take(line, number: index + 1)
                index += 1
                continue
            }
            let first = index + 1
            guard let end = lines[first...].firstIndex(of: "```") else {
                throw Mistake(line: first, problem: "the block has no end")
            }
            let content = lines[first..<end].map { $0 + "\n" }.joined()
            try take(content, language: String(line.dropFirst(3)), number: first)
            index = end + 1
        }
    }

    /// Takes a line outside of blocks.
    private mutating func take(_ line: String, number: Int) throws {
        if line.hasPrefix("<!-- "), line.hasSuffix(" -->") {
            comments.append(String(line.dropFirst(5).dropLast(4)))
            isAfterCommands = false
            return
        }
        guard comments.isEmpty else {
            throw Mistake(line: number, problem: "a comment that is not directly above commands")
        }
        if line.isEmpty { return }
        isAfterCommands = false
        if let heading = line.wholeMatch(of: /##(#?) (.+)/) {
            if let number = heading.2.prefixMatch(of: #/(\d+)\. /#) {
                chapter = Int(number.1) ?? 0
            }
            sections.append(Section(chapter: chapter, title: String(heading.2)))
        }
    }

    /// Takes a block.
    private mutating func take(_ content: String, language: String, number: Int) throws {
        let last = sections.indices.last
        switch language {
        case "sh":
            guard let last else { throw Mistake(line: number, problem: "no heading above") }
            sections[last].blocks.append(try block(content, number: number))
            isAfterCommands = true
            return
        case "text" where isAfterCommands:
            if let last { sections[last].blocks[sections[last].blocks.count - 1].output = content }
        default:
            throw Mistake(line: number, problem: "neither commands nor the output of some")
        }
        guard comments.isEmpty else {
            throw Mistake(line: number, problem: "a comment above an output")
        }
        isAfterCommands = false
    }

    private mutating func block(_ commands: String, number: Int) throws -> Block {
        var block = Block(line: number, commands: commands)
        for comment in comments {
            if let reason = comment.wholeMatch(of: /not run: (.+)/) {
                block.reasonNotToRun = String(reason.1)
            } else if let event = comment.wholeMatch(of: /meanwhile: (.+)/) {
                block.events.append(String(event.1))
            } else if let status = comment.wholeMatch(of: /ends with (\d+)/),
                let status = Int32(status.1)
            {
                block.status = status
            } else {
                throw Mistake(line: number, problem: "the comment \"\(comment)\" is not known")
            }
        }
        comments = []
        return block
    }
}
