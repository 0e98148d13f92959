/// An output in which `…` stands for any text of a line, and a line with nothing else for any number of
/// lines.
struct ExpectedOutput {
    private let lines: [Substring]

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: true)
    }

    /// Empty lines, and blanks at the end of lines, do not count.
    func matches(_ text: String) -> Bool {
        Self.matches(
            lines[...], text.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }[...])
    }

    private static func matches(
        _ expected: ArraySlice<Substring>, _ actual: ArraySlice<Substring>
    ) -> Bool {
        guard let first = expected.first else { return actual.isEmpty }
        let rest = expected.dropFirst()
        if first == "…" {
            return matches(rest, actual)
                || (!actual.isEmpty && matches(expected, actual.dropFirst()))
        }
        guard let line = actual.first, matches(first, line) else { return false }
        return matches(rest, actual.dropFirst())
    }

    private static func matches(_ expected: Substring, _ actual: Substring) -> Bool {
        var pieces = expected.split(separator: "…", omittingEmptySubsequences: false)[...]
        var rest = actual[...]
        while rest.last?.isWhitespace == true { rest.removeLast() }
        guard let first = pieces.popFirst(), rest.hasPrefix(first) else { return false }
        rest = rest.dropFirst(first.count)
        guard let last = pieces.popLast() else { return rest.isEmpty }
        for piece in pieces where !piece.isEmpty {
            guard let range = rest.firstRange(of: piece) else { return false }
            rest = rest[range.upperBound...]
        }
        return rest.hasSuffix(last)
    }
}
