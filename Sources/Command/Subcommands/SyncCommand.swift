import ArgumentParser
import Control

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Returns when everything below the paths is on the remote.",
        discussion: """
            Without a path, this applies to every mount. Items that cannot be sent are listed with the \
            reason; the exit status is then 1.

            EXAMPLES:
              apus sync ~/Cloud/Photos
              apus sync --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(help: "Print JSON, a line for each step.")
    var json = false

    func run() async throws {
        var failures: [String] = []
        var unsent: UInt64 = 0
        for target in try Daemons().targets(ofPathsOrAll: path) {
            let last = try await sync(target)
            failures += last.failureLines
            unsent += last.unsent
        }
        guard let first = failures.first else { return }
        throw CommandFailure(
            what: "send everything to the remote",
            why: failures.count == 1 ? first : "\(unsent) items failed",
            remedy: "`apus status` shows each with its reason")
    }

    private func sync(_ target: Daemons.Target) async throws -> SyncProgress {
        if json {
            return try await target.client.sync(below: target.paths) { progress in
                try? Console.printJSON(progress, pretty: false)
            }
        }
        var line = ProgressLine.standardError()
        let last = try await target.client.sync(below: target.paths) { line.show($0) }
        line.finish()
        last.failureLines.forEach { Console.printLine("failed \($0)") }
        Console.printLine("\(target.mountPoint): \(last.line).")
        return last
    }
}
