import ArgumentParser
import Control
import Engine
import Foundation

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Looks through the state of mounts, and puts it in order.",
        discussion: """
            Compares the database of a state directory with itself and with the files beside it, \
            and repairs what can be repaired; each repair is told, with what was lost, if anything. \
            Bytes that have no place any more are moved to `lost+found` in the state directory. A \
            database that SQLite cannot read is kept as `state.sqlite.damaged-N`, and what can be \
            read of it is saved into a new one.

            The state must not be mounted. Without an argument, everything in the usual place is \
            checked. What a killed daemon leaves behind is no damage; the next mount takes it up.

            Exit status: 0 if all is well or repaired, 1 if something is lost or left to do (with \
            --dry-run: if anything would be repaired), 2 for bad usage.

            EXAMPLES:
              apus check
              apus check folder:/srv/cloud
              apus check ~/Cloud --dry-run
              apus check /var/lib/apus/cloud-1f9a6c2e --json
            """)

    @Argument(
        help: "A state directory, the folder that it was mounted on, or its source.",
        completion: .directory)
    var state: String?

    @Flag(help: "Print JSON: a list with a report for each state directory.")
    var json = false

    @Flag(help: "Only tell what would be done.")
    var dryRun = false

    func run() async throws {
        let directories = try StateLocator.directories(for: state)
        var results: [CheckResult] = []
        var failures: [CommandFailure] = []
        for directory in directories {
            do {
                let isDryRun = dryRun
                let result = try await onOwnThread {
                    try DirectoryCheck(path: directory, isDryRun: isDryRun).run()
                }
                results.append(result)
                if !json { Console.printLine(result.text) }
                if let failure = result.failure { failures.append(failure) }
            } catch let error where directories.count > 1 {
                // One that cannot be checked does not keep the others from it.
                guard let failure = CommandFailure(error) else { throw error }
                failures.append(failure)
            }
        }
        if json { try Console.printJSON(results) }
        guard let first = failures.first else { return }
        throw failures.count == 1
            ? first
            : CommandFailure(
                what: "check \(directories.count) state directories",
                why: "\(failures.count) are not in order, the first: \(first.problem)")
    }
}

/// What was found in one state directory.
struct CheckResult: Codable, Sendable {
    var stateDirectory: String
    var isHealthy: Bool
    var report: CheckReport

    init(stateDirectory: String, report: CheckReport) {
        self.stateDirectory = stateDirectory
        self.report = report
        isHealthy = report.isInOrder
    }

    /// For people: a line for each finding, and a summary.
    var text: String {
        var lines = report.findings.map(\.line)
        let told = lines.count
        let all = report.counts.values.reduce(0, +)
        if all > told { lines.append("  and \(all - told) more") }
        return ([title] + lines + [summary]).joined(separator: "\n")
    }

    private var title: String {
        stateDirectory + (report.source.map { " (\($0))" } ?? "")
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

    /// Why the command ends with 1.
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
