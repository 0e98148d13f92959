import ArgumentParser
import Control
import Foundation

struct StatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "states",
        abstract: "Lists the state directories, mounted or not.",
        discussion: """
            Shows each state directory in the default place, with its source, its mount, its size on \
            the disk and its changes that are not on the remote yet. A directory that was given with \
            --state-dir is listed while it is mounted.

            EXAMPLES:
              apus states
              apus states --json
            """)

    @Flag(help: "Print JSON: a list with a report for each state directory.")
    var json = false

    func run() async throws {
        let inventory = StateInventory(try MountTable.current())
        var reports: [StateReport] = []
        for entry in inventory.entries {
            let report = try await StateInspection.report(entry)
            reports.append(report)
            if !json {
                Console.printLine(report.text(columns: Terminal.columns(of: STDOUT_FILENO)))
            }
        }
        if json { return try Console.printJSON(reports) }
        if reports.isEmpty { Console.printLine("No states.") }
    }
}
