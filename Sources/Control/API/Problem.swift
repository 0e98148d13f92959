/// What failed, why, and what a person can do about it.
package struct Problem: Codable, Hashable, Sendable {
    /// What was attempted, with its values: `upload "a/b.mov"`.
    package var what: String
    /// The reason, in the words of whoever refused.
    package var why: String
    /// What to do now; nil when nothing helps but waiting.
    package var remedy: String?

    package init(what: String, why: String, remedy: String? = nil) {
        self.what = what
        self.why = why
        self.remedy = remedy
    }
}

extension Problem: CustomStringConvertible {
    /// One line: `what: why; remedy`. Line ends inside become spaces.
    package var description: String {
        let line = "\(what): \(why)" + (remedy.map { "; \($0)" } ?? "")
        return line.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
