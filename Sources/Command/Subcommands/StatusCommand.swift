import ArgumentParser
import Control
import Foundation

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows what is local, dirty, uploading or failed, and why.",
        discussion: """
            Without a path, all mounts are shown.

            EXAMPLES:
              apus status
              apus status ~/Cloud/Photos/a.jpg
              apus status ~/Cloud --json
              apus status ~/Cloud --watch
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(help: "Print JSON: a list with a report for each mount; with --watch a report a line.")
    var json = false

    @Flag(help: "Go on showing changes until interrupted.")
    var watch = false

    func validate() throws {
        guard !watch || path.count <= 1 else {
            throw ValidationError("--watch takes one path")
        }
    }

    func run() async throws {
        let daemons = try Daemons()
        if path.isEmpty && daemons.mountPoints.isEmpty {
            return json ? try Console.printJSON([StatusReport]()) : Console.printLine("No mounts.")
        }
        if watch { return try await watch(daemons) }
        if path.isEmpty && daemons.mountPoints.count > 1 { return try await overview(daemons) }
        let reports = try await reports(of: try daemons.targets(ofPathsOrAll: path))
        if json { return try Console.printJSON(reports) }
        let now = Date()
        reports.forEach { Console.printLine($0.text(now: now)) }
    }

    private func reports(of targets: [Daemons.Target]) async throws -> [StatusReport] {
        var reports: [StatusReport] = []
        for target in targets {
            reports.append(try await target.client.status(below: target.paths))
        }
        return reports
    }

    /// A line for each mount. A dead one does not keep the others from being shown.
    private func overview(_ daemons: Daemons) async throws {
        var reports: [StatusReport] = []
        var failure: ControlError?
        for mountPoint in daemons.mountPoints {
            do {
                let target = try daemons.target(mountPoint: mountPoint)
                reports.append(try await target.client.status(below: []))
                if !json, let report = reports.last { Console.printLine(report.line) }
            } catch let error as ControlError {
                failure = failure ?? error
                if !json { Console.printLine("\(mountPoint)  \(error.problem.why)") }
            }
        }
        if json { try Console.printJSON(reports) }
        if let failure { throw failure }
    }

    private func watch(_ daemons: Daemons) async throws {
        let targets = try daemons.targets(ofPathsOrAll: path)
        guard let target = targets.first, targets.count == 1 else {
            throw CommandFailure(
                what: "watch", why: "there are several mounts",
                remedy: "name one of them: \(targets.map(\.mountPoint).joined(separator: ", "))")
        }
        let isTerminal = isatty(STDOUT_FILENO) == 1
        try await target.client.watchStatus(below: target.paths) { report in
            if json {
                try? Console.printJSON(report, pretty: false)
            } else {
                // Home, and everything below taken away: a page that changes in place.
                let page = report.text(now: Date())
                Console.printLine(isTerminal ? "\u{1B}[H\u{1B}[2J\(page)" : page)
            }
        }
    }
}
