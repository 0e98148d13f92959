import ArgumentParser
import Control

struct ConfirmDeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm-deletions",
        abstract: "Releases or undoes bulk deletions.",
        discussion: """
            If over 100 items and over a third of all are deleted on the remote at once, they stay \
            here until this command confirms the deletion. If as many are deleted here, they are \
            deleted on the remote after a minute, or at once by this command. `apus status` lists \
            them. Complete files that are removed here because the remote has deleted them stay in \
            the trash for 30 days, as far as they fit into a tenth of the cache.

            With --reject, all that is held comes back: what was deleted on the remote is sent to it \
            again, and what was deleted here appears here again. Files deleted on the remote whose \
            bytes are not all on this machine stay held; they are named, and the exit status is 1. \
            Deletions that were sent before so many were recognised cannot be undone: each is sent \
            two seconds after it was made.

            EXAMPLES:
              apus confirm-deletions ~/Cloud
              apus confirm-deletions ~/Cloud --reject
            """)

    @Argument(help: "A mounted folder, or a path in it.", completion: .directory)
    var path: String

    @Flag(help: "Undo the deletions instead.")
    var reject = false

    @Flag(help: "Print JSON, a line for each step.")
    var json = false

    func run() async throws {
        if reject { return try await undo() }
        let client = try Daemons().place(path).client
        _ = try await show(\DeletionsReport.line, until: \.isDone) { each throws(ControlError) in
            try await client.confirmDeletions(each: each)
        }
    }

    private func undo() async throws {
        let client = try Daemons().place(path).client
        let report = try await show(\RejectionReport.line, until: \.isDone) {
            each throws(ControlError) in try await client.rejectDeletions(each: each)
        }
        guard let reason = report.leftReason else { return }
        throw CommandFailure(
            what: "send everything to the remote again", why: reason,
            remedy: "put them back on the remote; or `apus confirm-deletions` removes them here too"
        )
    }

    /// Shows the reports of a request: each in one line of the terminal, which the last one replaces.
    private func show<Report: Encodable>(
        _ text: KeyPath<Report, String>, until isDone: KeyPath<Report, Bool>,
        _ request: ((Report) -> Void) async throws(ControlError) -> Report
    ) async throws -> Report {
        var line = json ? nil : ProgressLine.standardError()
        defer { line?.finish() }
        let last = try await request { report in
            if json {
                try? Console.printJSON(report, pretty: false)
            } else if !report[keyPath: isDone] {
                line?.show(report[keyPath: text])
            }
        }
        line?.finish()
        if !json { Console.printLine(last[keyPath: text]) }
        return last
    }
}
