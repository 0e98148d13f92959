// The columns that texts take on a terminal.

extension String {
    /// The number of columns: two for an East Asian wide character or an emoji, none for a
    /// combining mark.
    var width: Int {
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.width }
    }

    /// Returns at most `columns` columns, with `…` in place of the middle of a longer text.
    func shortened(to columns: Int) -> String {
        guard width > columns else { return self }
        let kept = max(0, columns - 1)
        let start = String(prefix(columns: kept / 2))
        let end = reversed().prefix(columns: kept - start.width)
        return start + "…" + String(end.reversed())
    }

    /// Returns at most `columns` columns, with `…` in place of the end of a longer text.
    func cut(to columns: Int) -> String {
        width > columns ? String(prefix(columns: columns - 1)) + "…" : self
    }

    /// Returns lines of at most `columns` columns, broken between words; all after the first are
    /// indented.
    func wrapped(to columns: Int) -> [String] {
        let words = split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        var lines = Array(words.prefix(1))
        for word in words.dropFirst() {
            let longer = lines[lines.count - 1] + " " + word
            if longer.width <= columns {
                lines[lines.count - 1] = longer
            } else {
                lines.append("    " + word)
            }
        }
        return lines.map { $0.cut(to: columns) }
    }
}

extension Sequence<Character> {
    /// Returns the first characters, as many as fit into `columns` columns.
    func prefix(columns: Int) -> [Character] {
        var room = columns
        return Array(
            prefix {
                room -= $0.width
                return room >= 0
            })
    }
}

extension Character {
    fileprivate var width: Int { unicodeScalars.reduce(0) { $0 + $1.width } }
}

extension Unicode.Scalar {
    /// The blocks of wide characters (UAX #11), except emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
        0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x20000...0x3FFFD,
    ]

    fileprivate var width: Int {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // The vowels and final consonants of a Hangul syllable join its first consonant.
        if (0x1160...0x11FF).contains(value) { return 0 }
        let isWide = properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) }
        return isWide ? 2 : 1
    }
}
