import ArgumentParser
import Control
import Foundation

struct MountsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the mounts of the configuration file.",
        discussion: """
            Each with its name, whether it is mounted, its source and its path.

            EXAMPLES:
              apus mounts list
              apus mounts list --json
            """)

    @Flag(help: "Print JSON: a list with an object for each mount.")
    var json = false

    func run() throws {
        let configuration = try Configuration.current()
        let table = try MountTable.current()
        let reports = configuration.mounts.map { ConfiguredMounts.report($0, in: table) }
        if json { return try Console.printJSON(reports) }
        for report in reports {
            Console.printLine(report.text(columns: Terminal.columns(of: STDOUT_FILENO)))
        }
        if reports.isEmpty {
            Console.printLine(
                "No mounts in \(configuration.files.joined(separator: " and ")); see man 5 apus.")
        }
    }
}
