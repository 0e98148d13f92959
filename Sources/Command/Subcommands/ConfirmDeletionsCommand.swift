import ArgumentParser
import Control

struct ConfirmDeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm-deletions",
        abstract: "Releases bulk deletions.",
        discussion: """
            If over 100 items and over a third of all are deleted on the remote at once, they stay \
            here until this command confirms the deletion. If as many are deleted here, they are \
            deleted on the remote after a minute, or at once by this command. `apus status` lists \
            them. Complete files that are removed here stay in the folder "trash" of the state \
            directory for 30 days.

            EXAMPLES:
              apus confirm-deletions ~/Cloud
            """)

    @Argument(help: "A mounted folder, or a path in it.", completion: .directory)
    var path: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let report = try await Daemons().place(path).client.confirmDeletions()
        if json { return try Console.printJSON(report) }
        Console.printLine(report.line)
    }
}
