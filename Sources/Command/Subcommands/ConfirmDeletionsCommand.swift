import ArgumentParser
import Control

struct ConfirmDeletionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "confirm-deletions",
        abstract: "Lets deletions in bulk go through.",
        discussion: """
            When over 100 items and over a third of all disappear at once on the remote, they stay \
            here until this command says that it was meant. When as much is deleted here, it \
            leaves the remote a minute later, or at once by this command. `apus status` lists what \
            waits. What is removed here and was whole stays for 30 days in the folder "trash" of \
            the state directory.

            EXAMPLES:
              apus confirm-deletions ~/Cloud
            """)

    @Argument(help: "A mounted folder, or a path in it.", completion: .directory)
    var path: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        guard let target = try Daemons().targets(of: [path]).first else { return }
        let report = try await target.client.confirmDeletions()
        if json { return try Console.printJSON(report) }
        Console.printLine(report.line)
    }
}
