import ArgumentParser
import Control
import Engine
import Foundation

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Checks the state of mounts, and repairs it.",
        discussion: """
            Checks the database of a state directory and the files beside it, and repairs damage; \
            each repair and each loss is reported. Bytes that belong to no file are moved to \
            `lost+found` in the state directory. A database that SQLite cannot read is kept as \
            `state.sqlite.damaged-N`, and its readable rows are saved into a new one.

            The state must not be mounted. Without an argument, every state in the default place is \
            checked. The state of a killed daemon is not damaged; the next mount continues with it.

            Exit status: 0 if everything is in order or repaired, 1 if something is lost or left to \
            do (with --dry-run: if anything would be repaired), 2 for bad usage.

            EXAMPLES:
              apus check
              apus check folder:/srv/cloud
              apus check ~/Cloud --dry-run
              apus check /var/lib/apus/cloud-1f9a6c2e --json
            """)

    @Argument(
        help: "A state directory, its mount point, or its source.",
        completion: .directory)
    var state: String?

    @Flag(help: "Print JSON: a list with a report for each state directory.")
    var json = false

    @Flag(help: "Only report what would be done.")
    var dryRun = false

    func run() async throws {
        let directories = try StateLocator.directories(for: state, to: "check")
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
                // The other directories are still checked.
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
