/// Lines at the cursor of a terminal that are redrawn in place, without flicker: each frame replaces the
/// lines of the one before, in one write, and the last one stays.
package struct Screen {
    private let write: (String) -> Void
    private var shown: [String] = []
    private var columns = 0
    private var isBegun = false

    /// - Parameter write: Outputs text, which includes escape sequences.
    package init(write: @escaping (String) -> Void) {
        self.write = write
    }

    /// Shows lines, none wider than the terminal, and fewer than its rows.
    ///
    /// - Parameter columns: The width of the terminal. After a change of it, the terminal has broken the
    ///   lines anew, and the whole screen is cleared.
    package mutating func show(_ lines: [String], columns: Int) {
        guard lines != shown || columns != self.columns else { return }
        let isResized = isBegun && columns != self.columns
        // DEC 2026: a terminal that knows it shows the whole frame at once.
        var text = "\u{1B}[?2026h" + (isBegun ? "" : "\u{1B}[?25l")
        if isResized {
            text += "\u{1B}[2J\u{1B}[H"
        } else if !shown.isEmpty {
            text += "\u{1B}[\(shown.count)A"
        }
        text += "\r" + lines.map { $0 + "\u{1B}[K\n" }.joined() + "\u{1B}[J\u{1B}[?2026l"
        write(text)
        (shown, self.columns, isBegun) = (lines, columns, true)
    }

    /// Shows the cursor again.
    package mutating func end() {
        if isBegun { write("\u{1B}[?25h") }
        isBegun = false
    }
}
