import Engine

/// The result of a check of one state directory.
struct CheckResult: Codable, Sendable {
    var stateDirectory: String
    var isHealthy: Bool
    var report: CheckReport

    init(stateDirectory: String, report: CheckReport) {
        self.stateDirectory = stateDirectory
        self.report = report
        isHealthy = report.isInOrder
    }

    /// A line for each finding, and a summary.
    var text: String {
        var lines = report.findings.map(\.line)
        let told = lines.count
        let all = report.counts.values.reduce(0, +)
        if all > told { lines.append("  and \(all - told) more") }
        let title = stateDirectory + (report.source.map { " (\($0))" } ?? "")
        return ([title] + lines + [summary]).joined(separator: "\n")
    }

    private var summary: String {
        let words: [(CheckFinding.Outcome, String)] = [
            (.repaired, "repaired"), (.repairable, "to be repaired"), (.lost, "lost"),
            (.left, "left to do"),
        ]
        let counted = words.compactMap { outcome, word in
            report.count(outcome) > 0 ? "\(report.count(outcome)) \(word)" : nil
        }
        return "\(report.inodes) items, \(report.contentFiles) content files: "
            + (counted.isEmpty ? "in order." : counted.joined(separator: ", ") + ".")
    }

    /// The reason for exit status 1.
    var failure: CommandFailure? {
        if isHealthy { return nil }
        let lost = report.count(.lost)
        let open = report.count(.left) + report.count(.repairable)
        let reasons =
            (lost > 0 ? ["\(lost) found lost"] : []) + (open > 0 ? ["\(open) left to do"] : [])
        return CommandFailure(
            what: "check \(stateDirectory)", why: reasons.joined(separator: ", "),
            remedy: report.isDryRun ? "run it without --dry-run" : "each is listed above")
    }
}

extension CheckFinding {
    fileprivate var line: String {
        let subject = path ?? inode.map { "inode \($0)" }
        let texts = [what, repair, loss.map { "lost: \($0)" }].compactMap { $0 }
        return "  \(outcome.rawValue): " + (subject.map { "\($0): " } ?? "")
            + texts.joined(separator: "; ")
    }
}
