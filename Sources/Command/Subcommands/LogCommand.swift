import ArgumentParser
import Control
import Foundation

struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Shows the log of a mount's daemon.",
        discussion: """
            Shows the last lines of the file `log` in the state directory, also of a mount that has \
            ended or died. --log-level and --log-format of `apus mount` decide what is in it.

            EXAMPLES:
              apus log ~/Cloud
              apus log ~/Cloud --follow
              apus log folder:/srv/cloud --lines 1000
            """)

    @Argument(
        help: """
            A folder that is or was mounted, its state directory or its source; may be left out if \
            there is only one mount.
            """, completion: .directory)
    var mount: String?

    @Flag(name: .shortAndLong, help: "Show further lines as they are written, until interrupted.")
    var follow = false

    @Option(
        name: [.customShort("n"), .long], help: ArgumentHelp("How many lines.", valueName: "number")
    )
    var lines = 100

    func validate() throws {
        guard lines >= 0 else { throw ValidationError("--lines takes a number from 0 on") }
    }

    func run() async throws {
        let directory = try StateLocator.directory(for: try name(), to: "show the log of")
        let reader = try LogReader(DaemonLog.path(in: directory))
        Console.write(try reader.lastLines(lines))
        while follow {
            try await Task.sleep(for: .milliseconds(200))
            Console.write(try reader.appended())
        }
    }

    private func name() throws -> String {
        if let mount { return mount }
        let mounts = try Daemons().mountPoints
        guard let only = mounts.first, mounts.count == 1 else {
            throw CommandFailure(
                what: "show the log",
                why: mounts.isEmpty ? "nothing is mounted by apus" : "there are several mounts",
                remedy: mounts.isEmpty
                    ? "name a state directory, or a source that was mounted"
                    : "name one of them: \(mounts.joined(separator: ", "))")
        }
        return only
    }
}
