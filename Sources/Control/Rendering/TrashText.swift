package import FoundationEssentials

extension TrashItem {
    /// The head of a list of ``line(now:timeZone:)``.
    package static let head = "Deleted           Days left       Size  Path"

    /// Returns a line: `2026-01-15 08:00         29    1.2 MiB  Photos/a.jpg`.
    package func line(now: Date, timeZone: TimeZone = .current) -> String {
        let time = deleted.formatted(
            Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: timeZone)
                .year().month().day().dateTimeSeparator(.space)
                .time(includingFractionalSeconds: false)
        ).prefix(16)
        let days = Int(max(0, expires.timeIntervalSince(now)) / 86_400)
        return "\(time)  " + "\(days)".filled(before: 9) + "  "
            + HumanSize.format(bytes).filled(before: 9) + "  \(path.shellEscaped)"
    }
}

extension String {
    fileprivate func filled(before width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}

extension RestoreProgress {
    /// Lines about the files since the value before that have another name, or are not back.
    ///
    /// - Parameter columns: The maximum width of reasons; nil for none.
    package func told(columns: Int?) -> [String] {
        restored.filter(\.isRenamed).map { file in
            "The name was taken: \(file.path.shellEscaped) is now \(file.to.shellEscaped)"
        } + failed.map { $0.line(columns: columns) }
    }

    /// The progress as a sentence.
    package var line: String {
        let state = files == 1 ? "is back" : "are back"
        return "\(counted(files, "file", "files")) (\(HumanSize.format(bytes))) \(state)"
            + (isDone ? "; what is back is sent to the remote" : " so far")
    }
}
