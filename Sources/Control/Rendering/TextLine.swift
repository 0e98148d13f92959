/// A line of words and paths, which are shortened before the words.
struct TextLine {
    enum Part {
        case words(String)
        case path(String)

        /// Returns the parts of a text in which paths are in quotation marks.
        static func quoting(_ text: String) -> [Part] {
            text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                .flatMap { index, piece in
                    (index == 0 ? [] : [words("\"")])
                        + [index.isMultiple(of: 2) ? words(String(piece)) : path(String(piece))]
                }
        }
    }

    /// The columns that paths share at least.
    private static let pathsMin = 20

    private let parts: [Part]

    init(_ parts: [Part]) {
        self.parts = parts
    }

    /// Returns the line with each path shortened to `pathMax` columns.
    func text(pathMax: Int = .max) -> String {
        parts.map {
            switch $0 {
            case .words(let words): words.singleLine
            case .path(let path): path.singleLine.shortened(to: pathMax)
            }
        }.joined()
    }

    /// Returns the line with paths as short as `columns` requires, but with all its words, so that
    /// it may be longer.
    ///
    /// - Parameter columns: nil for no limit.
    func shortened(to columns: Int?) -> String {
        guard let columns else { return text() }
        let widths = parts.compactMap {
            if case .path(let path) = $0 { path.singleLine.width } else { nil }
        }
        let words = text().width - widths.reduce(0, +)
        var room = max(Self.pathsMin, columns - words)
        // Short paths leave their room to the others.
        for (index, width) in widths.sorted().enumerated() {
            let share = room / (widths.count - index)
            guard width <= share else { return text(pathMax: share) }
            room -= width
        }
        return text()
    }

    /// Returns the line in at most `columns` columns: after the paths, its end is shortened.
    func fitted(to columns: Int) -> String { shortened(to: columns).cut(to: columns) }
}
