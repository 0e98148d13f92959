import ArgumentParser
import Control
import Foundation

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the local, changed, uploading and failed items of mounts.",
        discussion: """
            Shows a summary and at most 20 items: first those that need attention, then those under \
            way, shortened to the width of the terminal. Without a path, all mounts are shown; \
            several of them take one line each. A line follows for each state that is not mounted \
            and has changes that are not on the remote; with --json, it goes to standard error, and \
            `apus states --json` has their numbers.

            --watch shows a line for each mount, redrawn in place, with progress, rates and the time \
            left, then what is under way and what needs attention; elsewhere than on a terminal, new \
            lines at intervals. Ctrl-C ends it. NO_COLOR turns colours off.

            EXAMPLES:
              apus status
              apus status ~/Cloud --all
              apus status ~/Cloud/Photos/a.jpg
              apus status ~/Cloud --json
              apus status ~/Cloud --watch
              apus status ~/Cloud --who
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(help: "Show all items, with their whole paths.")
    var all = false

    @Flag(
        help: """
            Print JSON with all items: a list with a report for each mount; with --watch, a report \
            a line.
            """)
    var json = false

    @Flag(
        help: "Show the programs that have had files fetched in the last hour, and of which files.")
    var who = false

    @Flag(help: "Show progress and changes until interrupted.")
    var watch = false

    /// More than the daemon lists.
    private var limit: Int? { all || json ? .max : nil }

    func validate() throws {
        guard !watch || path.count <= 1 else {
            throw ValidationError("--watch takes one path")
        }
        guard !who || path.count <= 1 && !watch && !all else {
            throw ValidationError("--who takes one mount, and neither --watch nor --all")
        }
    }

    func run() async throws {
        let daemons = try Daemons()
        let isNothingMounted = path.isEmpty && daemons.mountPoints.isEmpty
        if who, !isNothingMounted { return try await showPrograms(daemons) }
        if watch, !isNothingMounted { return try await watch(daemons) }
        defer { if path.isEmpty { showWaitingStates() } }
        if isNothingMounted {
            return json
                ? try Console.printJSON([StatusReport]())
                : Console.printLine(Self.noMounts(daemons.othersMountPoints.count))
        }
        if path.isEmpty && daemons.mountPoints.count > 1 { return try await overview(daemons) }
        var reports: [StatusReport] = []
        for target in try daemons.targets(ofPathsOrAll: path) {
            reports.append(try await target.client.status(below: target.paths, limit: limit))
        }
        if json { return try Console.printJSON(reports) }
        reports.forEach { Console.printLine(text($0)) }
    }

    private func showPrograms(_ daemons: Daemons) async throws {
        var reports: [ProgramsReport] = []
        for target in try daemons.targets(ofPathsOrAll: path) {
            reports.append(try await target.client.programs())
        }
        if json { return try Console.printJSON(reports) }
        for report in reports {
            if reports.count > 1 { Console.printLine("\(report.mountPoint):") }
            Console.printLine(report.text(columns: Self.columns))
        }
    }

    private func text(_ report: StatusReport) -> String {
        report.text(now: Date(), extent: all ? .all : .summary(columns: Self.columns))
    }

    private static func noMounts(_ othersCount: Int) -> String {
        guard othersCount > 0 else { return "No mounts." }
        return "No mounts of yours; \(counted(othersCount, "mount", "mounts")) of other users."
    }

    /// Shows the states that hold changes although they are not mounted.
    private func showWaitingStates() {
        guard let table = try? MountTable.current() else { return }
        for state in StateInventory(table).waiting {
            if json {
                Console.complain("note: \(state.waitingLine(columns: nil))")
            } else {
                Console.printLine(state.waitingLine(columns: Self.columns))
            }
        }
    }

    private static var columns: Int? { Terminal.columns(of: STDOUT_FILENO) }

    /// Shows a line for each mount, and continues after one that is dead.
    private func overview(_ daemons: Daemons) async throws {
        var reports: [StatusReport] = []
        var failure: ControlError?
        for mountPoint in daemons.mountPoints {
            do {
                let client = try daemons.target(mountPoint: mountPoint).client
                let report = try await client.status(below: [], limit: limit)
                reports.append(report)
                if !json {
                    Console.printLine(all ? text(report) : report.line(columns: Self.columns))
                }
            } catch let error as ControlError {
                failure = failure ?? error
                if !json { Console.printLine("\(mountPoint)  \(error.problem.why)") }
            }
        }
        let others = daemons.othersMountPoints.count
        if !json, others > 0 {
            Console.printLine("Not shown: \(counted(others, "mount", "mounts")) of other users.")
        }
        if json { try Console.printJSON(reports) }
        if let failure { throw failure }
    }

    private func watch(_ daemons: Daemons) async throws {
        let watch = StatusWatch(try daemons.targets(ofPathsOrAll: path), limit: limit)
        try await json ? watch.printJSON() : watch.show()
    }
}
