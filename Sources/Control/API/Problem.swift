/// A failure, with its reason and advice for the user.
package struct Problem: Codable, Hashable, Sendable {
    /// The attempted operation with its values: `upload "a/b.mov"`.
    package var what: String
    /// The reason, in the words of the system or the remote.
    package var why: String
    /// Advice; nil if the user can only wait.
    package var remedy: String?

    package init(what: String, why: String, remedy: String? = nil) {
        self.what = what
        self.why = why
        self.remedy = remedy
    }
}

extension Problem: CustomStringConvertible {
    /// One line: `what: why; remedy`. Line ends become spaces, and other control characters question marks.
    package var description: String { Self.line("\(what): \(reason)") }

    /// Returns the description without ``what`` if that only repeats `path`, beside which it stands.
    func description(beside path: String) -> String {
        what.contains("\"\(path)\"") ? Self.line(reason) : description
    }

    /// `why; remedy`.
    var reason: String { why + (remedy.map { "; \($0)" } ?? "") }

    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ").singleLine
    }
}
