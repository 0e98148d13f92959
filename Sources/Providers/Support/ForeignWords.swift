/// Cleans texts from servers and programs for a terminal or a log.
package enum ForeignWords {
    /// Returns one line without control characters, of at most `charactersMax` Unicode scalars.
    package static func line(_ text: String, charactersMax: Int) -> String {
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let shown = words.unicodeScalars.filter { $0.properties.generalCategory != .control }
        return String(String.UnicodeScalarView(shown.prefix(charactersMax)))
    }
}
