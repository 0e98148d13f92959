import Foundation

/// A line of progress, redrawn in place on a terminal and printed at intervals elsewhere.
package struct ProgressLine {
    /// The form of the output.
    package enum Style: Hashable, Sendable {
        /// Redrawn, at most this many columns wide.
        case terminal(columns: Int)
        /// A new line each time, at intervals of at least this many seconds; the second one, with what is
        /// waited for, comes after three at most.
        case plain(interval: Double)
    }

    private let style: Style
    private let write: (String) -> Void
    private var shown = ""
    private var shownAt: Double?
    private var shownCount = 0

    private static let firstInterval = 3.0

    /// - Parameter write: Outputs text, which includes escape sequences.
    package init(style: Style, write: @escaping (String) -> Void) {
        self.style = style
        self.write = write
    }

    /// Returns a line on standard error; standard output is for results.
    package static func standardError() -> ProgressLine {
        let style: Style =
            isatty(STDERR_FILENO) == 1
            ? .terminal(columns: Terminal.columns(of: STDERR_FILENO) ?? 80) : .plain(interval: 5)
        return ProgressLine(style: style) { text in
            try? FileHandle.standardError.write(contentsOf: Data(text.utf8))
        }
    }

    /// Replaces the shown text by `text`.
    ///
    /// - Parameter uptime: Seconds since an arbitrary start, for the plain style's interval.
    package mutating func show(
        _ text: String, uptime: Double = ProcessInfo.processInfo.systemUptime
    ) {
        guard text != shown else { return }
        switch style {
        case .terminal(let columns):
            // The last column stays empty, as some terminals would wrap.
            write("\r\u{1B}[2K" + String(text.prefix(columns: columns - 1)))
        case .plain(let interval):
            let pause = shownCount == 1 ? min(interval, Self.firstInterval) : interval
            if let shownAt, uptime - shownAt < pause { return }
            write(text + "\n")
        }
        shown = text
        shownAt = uptime
        shownCount += 1
    }

    /// Shows the progress of a sync, except its last report, which is the command's result.
    package mutating func show(_ progress: SyncProgress) {
        guard !progress.isDone else { return }
        // Without pending changes, there is nothing to show unless a line has to be replaced.
        if progress.pending > 0 || !shown.isEmpty { show(progress.line) }
    }

    /// Replaces the line by `text` permanently, or removes it.
    package mutating func finish(_ text: String? = nil) {
        if case .terminal = style {
            write("\r\u{1B}[2K" + (text.map { $0 + "\n" } ?? ""))
        } else if let text, text != shown {
            write(text + "\n")
        }
        shown = ""
        shownAt = nil
        shownCount = 0
    }
}
