import Foundation

/// One line of progress: redrawn in place on a terminal, printed now and then elsewhere.
package struct ProgressLine {
    /// How the lines get out.
    package enum Style: Hashable, Sendable {
        /// Redrawn, at most this many columns wide.
        case terminal(columns: Int)
        /// A line of its own each time, at most one in this many seconds.
        case plain(interval: Double)
    }

    private let style: Style
    private let write: (String) -> Void
    private var shown = ""
    private var shownAt: Double?

    /// - Parameter write: Takes text as it is to appear, escape sequences included.
    package init(style: Style, write: @escaping (String) -> Void) {
        self.style = style
        self.write = write
    }

    /// A line on standard error, so that standard output stays for results.
    package static func standardError() -> ProgressLine {
        let style: Style =
            isatty(STDERR_FILENO) == 1
            ? .terminal(columns: terminalColumns()) : .plain(interval: 5)
        return ProgressLine(style: style) { text in
            try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
        }
    }

    /// Shows `text` in place of what was shown before.
    ///
    /// - Parameter uptime: Seconds since an arbitrary start, for the plain style's interval.
    package mutating func show(
        _ text: String, uptime: Double = ProcessInfo.processInfo.systemUptime
    ) {
        guard text != shown else { return }
        switch style {
        case .terminal(let columns):
            // The last column stays free: some terminals would wrap.
            write("\r\u{1B}[2K" + text.prefix(max(1, columns - 1)))
        case .plain(let interval):
            if let shownAt, uptime - shownAt < interval { return }
            write(text + "\n")
        }
        shown = text
        shownAt = uptime
    }

    /// Shows how far a sync has come. Its last word is the command's to say, as a result.
    package mutating func show(_ progress: SyncProgress) {
        guard !progress.isDone else { return }
        // That there is nothing to wait for is no progress, unless there was something before.
        if progress.pending > 0 || !shown.isEmpty { show(progress.line) }
    }

    /// Leaves `text` standing as the last word, or takes the line away.
    package mutating func finish(_ text: String? = nil) {
        if case .terminal = style {
            write("\r\u{1B}[2K" + (text.map { $0 + "\n" } ?? ""))
        } else if let text, text != shown {
            write(text + "\n")
        }
        shown = ""
        shownAt = nil
    }

    private static func terminalColumns() -> Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}
