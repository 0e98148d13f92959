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
    /// One line: `what: why; remedy`. Line ends become spaces.
    package var description: String {
        let line = "\(what): \(why)" + (remedy.map { "; \($0)" } ?? "")
        return line.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
