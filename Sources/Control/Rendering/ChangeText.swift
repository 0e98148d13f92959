package import FoundationEssentials

extension ChangeEvent {
    /// Returns a line: `2026-01-15 08:00:00  created   Photos/a.jpg  (remote)`; nil for the first event of
    /// a stream.
    package func line(timeZone: TimeZone = .current) -> String? {
        guard let change, let path, let time else { return nil }
        let shown = time.formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: timeZone)
                .year().month().day().dateTimeSeparator(.space)
                .time(includingFractionalSeconds: false)
        ).prefix(19)
        let word = change.rawValue + String(repeating: " ", count: 8 - change.rawValue.count)
        let former = from.map { "\($0.shellEscaped) -> " } ?? ""
        return "\(shown)  \(word)  \(former)\(path.shellEscaped)"
            + (side == .remote ? "  (remote)" : "")
    }
}
