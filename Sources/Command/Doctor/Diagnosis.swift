/// One line of `apus doctor`.
struct Diagnosis: Codable, Hashable {
    enum Verdict: String, Codable {
        case good
        /// It works, with less than there could be.
        case note
        case bad
    }

    /// Such as `FUSE device`.
    let subject: String
    let verdict: Verdict
    let finding: String
    /// Advice; nil if there is nothing to do.
    let remedy: String?

    static func good(_ subject: String, _ finding: String) -> Diagnosis {
        Diagnosis(subject: subject, verdict: .good, finding: finding, remedy: nil)
    }

    static func note(_ subject: String, _ finding: String, remedy: String? = nil) -> Diagnosis {
        Diagnosis(subject: subject, verdict: .note, finding: finding, remedy: remedy)
    }

    static func bad(_ subject: String, _ finding: String, remedy: String?) -> Diagnosis {
        Diagnosis(subject: subject, verdict: .bad, finding: finding, remedy: remedy)
    }

    /// For people: `note  rclone  not installed; install …`.
    var line: String {
        let start = verdict.rawValue.padding(to: 6) + subject.padding(to: 20)
        return start + finding + (remedy.map { "; \($0)" } ?? "")
    }
}

extension String {
    /// Ends with two blanks at least.
    fileprivate func padding(to columns: Int) -> String {
        self + String(repeating: " ", count: max(2, columns - count))
    }
}
