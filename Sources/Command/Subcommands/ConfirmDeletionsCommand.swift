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
            the trash for 30 days.

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
        var line = json ? nil : ProgressLine.standardError()
        defer { line?.finish() }
        let report = try await Daemons().place(path).client.confirmDeletions { report in
            if json { return (try? Console.printJSON(report, pretty: false)) ?? () }
            if !report.isDone { line?.show(report.line) }
        }
        line?.finish()
        if !json { Console.printLine(report.line) }
    }

    private func undo() async throws {
        var line = json ? nil : ProgressLine.standardError()
        defer { line?.finish() }
        let report = try await Daemons().place(path).client.rejectDeletions { report in
            if json { return (try? Console.printJSON(report, pretty: false)) ?? () }
            if !report.isDone { line?.show(report.line) }
        }
        line?.finish()
        if !json { Console.printLine(report.line) }
        guard let reason = report.leftReason else { return }
        throw CommandFailure(
            what: "send everything to the remote again", why: reason,
            remedy: "put them back on the remote; or `apus confirm-deletions` removes them here too"
        )
    }
}
