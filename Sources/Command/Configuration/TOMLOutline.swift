/// The lines on which the tables and keys of a TOML document begin, for messages: the parser tells only those
/// of its own errors.
///
/// It expects a valid document, and ends silently where it is none.
struct TOMLOutline {
    struct Repetition: Hashable {
        let path: [String]
        let firstLine: Int
        let line: Int
    }

    /// The first table or key that is given twice, outside of arrays of tables.
    private(set) var repetition: Repetition?
    private var lines: [[String]: Int] = [:]
    private var rest: Substring.UTF8View
    private var line = 1

    init(_ text: String) {
        rest = text[...].utf8
        // A byte order mark
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest.removeFirst(3) }
        var table: [String] = []
        while let byte = skipBlank() {
            let start = line
            if byte == UInt8(ascii: "[") {
                rest.removeFirst()
                let isElement = rest.first == UInt8(ascii: "[")
                if isElement { rest.removeFirst() }
                guard let path = key(), !path.isEmpty else { return }
                table = path
                note(path, at: start, isElement: isElement)
                skipLine()
            } else {
                guard let path = key(), !path.isEmpty, rest.first == UInt8(ascii: "=") else {
                    return
                }
                rest.removeFirst()
                note(table + path, at: start, isElement: isInElement(table))
                skipValue()
            }
        }
    }

    /// Returns the line of a table or key, which may be a part of a longer one; otherwise that of the nearest
    /// above it, as of a key in an inline table.
    func line(of path: [String]) -> Int {
        var path = path
        while !path.isEmpty {
            let below = lines.filter { $0.key.starts(with: path) }.map(\.value)
            if let line = lines[path] ?? below.min() { return line }
            path.removeLast()
        }
        return 1
    }

    /// The paths of arrays of tables, whose keys may be repeated.
    private var elements: Set<[String]> = []

    private func isInElement(_ path: [String]) -> Bool {
        path.indices.contains { elements.contains(Array(path[...$0])) }
    }

    private mutating func note(_ path: [String], at line: Int, isElement: Bool) {
        if isElement { elements.insert(path) }
        guard let first = lines[path] else {
            lines[path] = line
            return
        }
        if isElement || isInElement(path) || repetition != nil { return }
        repetition = Repetition(path: path, firstLine: first, line: line)
    }

    // MARK: Steps through the text

    /// Skips blanks, line ends and comments.
    ///
    /// - Returns: The next byte; nil at the end.
    private mutating func skipBlank() -> UInt8? {
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "#"): rest = rest.drop { $0 != UInt8(ascii: "\n") }
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: " "), UInt8(ascii: "\t"):
                pop()
            default: return byte
            }
        }
        return nil
    }

    private mutating func skipSpaces() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    private mutating func skipLine() {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
    }

    @discardableResult
    private mutating func pop() -> UInt8? {
        guard let byte = rest.popFirst() else { return nil }
        if byte == UInt8(ascii: "\n") { line += 1 }
        return byte
    }

    /// Takes a key: names with dots between them, bare or in quotation marks.
    private mutating func key() -> [String]? {
        var names: [String] = []
        while true {
            skipSpaces()
            guard let byte = rest.first else { return nil }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                guard let name = string() else { return nil }
                names.append(name)
            } else {
                let name = rest.prefix { !" \t\r\n.=]#\"'".utf8.contains($0) }
                guard !name.isEmpty else { return nil }
                names.append(String(decoding: name, as: UTF8.self))
                rest = rest.dropFirst(name.count)
            }
            skipSpaces()
            guard rest.first == UInt8(ascii: ".") else { return names }
            rest.removeFirst()
        }
    }

    /// Takes a string of one line or, between three marks, of several.
    ///
    /// - Returns: Its text, with escapes as they are.
    private mutating func string() -> String? {
        guard let mark = rest.first else { return nil }
        let isLong = rest.prefix(3).elementsEqual([mark, mark, mark])
        let end = isLong ? [mark, mark, mark] : [mark]
        for _ in end { pop() }
        var bytes: [UInt8] = []
        while let byte = rest.first {
            if rest.starts(with: end) {
                for _ in end { pop() }
                // Up to two more marks belong to the text.
                while isLong, rest.first == mark { pop() }
                return String(decoding: bytes, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\n"), !isLong { return nil }
            bytes.append(byte)
            pop()
            if byte == UInt8(ascii: "\\"), mark == UInt8(ascii: "\""), let escaped = pop() {
                bytes.append(escaped)
            }
        }
        return nil
    }

    /// Skips a value with all that follows on its last line.
    private mutating func skipValue() {
        var depth = 0
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                guard string() != nil else { return skipLine() }
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                pop()
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                depth -= 1
                pop()
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: "\n") where depth <= 0: return
            default: pop()
            }
        }
    }
}
