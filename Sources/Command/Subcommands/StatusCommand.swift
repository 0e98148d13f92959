import ArgumentParser
import Control
import Foundation
import Synchronization

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows the local, changed, uploading and failed items of mounts.",
        discussion: """
            Shows a summary and at most 20 items: first those that need attention, then those under \
            way, shortened to the width of the terminal. Without a path, all mounts are shown; \
            several of them take one line each, with what needs attention below it. A line follows for \
            each state that is not mounted and has changes that are not on the remote; with --json, it \
            goes to standard error, and `apus states --json` has their numbers.

            --retry first asks a remote that is out of reach, or has refused the credentials, whether it \
            answers by now, and tries again at once what failed or waits, as `apus sync` does. The status \
            is shown once everything is on the remote, or after 10 seconds; --timeout changes that. The \
            attempts continue without this command.

            A daemon that does not answer is named after three seconds, and waited for for a minute, or as \
            long as --timeout says; the exit status is then 1.

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
              apus status --retry
              apus status ~/Cloud --retry --timeout 1m
              apus status --json --timeout 5s
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(help: "Show all items, up to 10,000, with their whole paths.")
    var all = false

    @Flag(
        help: """
            Print JSON with all items, up to 10,000: a list with a report for each mount; with --watch, a report \
            a line.
            """)
    var json = false

    @Flag(
        help: "Show the programs that have had files fetched in the last hour, and of which files.")
    var who = false

    @Flag(help: "Show progress and changes until interrupted.")
    var watch = false

    @Flag(help: "Try what failed or waits at once, then show the status.")
    var retry = false

    @Option(
        help: ArgumentHelp(
            """
            How long each daemon may take to answer, and with --retry, how long the attempts are waited for. \
            (default: 60s, 10s for the attempts)
            """, valueName: "time"),
        transform: Duration.parse)
    var timeout: Duration?

    /// How long a daemon may take to answer.
    private var answerTime: Duration { timeout ?? .seconds(60) }
    /// How long the attempts of --retry are waited for.
    private var retryTime: Duration { timeout ?? .seconds(10) }

    /// The maximum is more than the daemon lists.
    private var limit: Int? { all || json ? .max : nil }

    func validate() throws {
        guard !watch || path.count <= 1 else {
            throw ValidationError("--watch takes one path")
        }
        guard !who || path.count <= 1 && !watch && !all else {
            throw ValidationError("--who takes one mount, and neither --watch nor --all")
        }
        guard !retry || !watch && !who else {
            throw ValidationError("--retry is neither for --watch nor for --who")
        }
        guard timeout == nil || !watch else {
            throw ValidationError("--timeout is not for --watch")
        }
    }

    func run() async throws {
        let daemons = try Daemons()
        let isNothingMounted = path.isEmpty && daemons.mountPoints.isEmpty
        if who, !isNothingMounted { return try await showPrograms(daemons) }
        if watch, !isNothingMounted { return try await watch(daemons) }
        do {
            try await showReports(daemons, isNothingMounted: isNothingMounted)
        } catch {
            await showWaitingStates()
            throw error
        }
        await showWaitingStates()
    }

    private func showReports(_ daemons: Daemons, isNothingMounted: Bool) async throws {
        if isNothingMounted {
            return json
                ? try Console.printJSON([StatusReport]())
                : Console.printLine(Self.noMounts(daemons.othersMountPoints.count))
        }
        if path.isEmpty && daemons.mountPoints.count > 1 { return try await overview(daemons) }
        var reports: [StatusReport] = []
        for target in try await targets(daemons) { reports.append(try await report(of: target)) }
        if json { return try Console.printJSON(reports) }
        reports.forEach { Console.printLine(text($0)) }
    }

    private func showPrograms(_ daemons: Daemons) async throws {
        var reports: [ProgramsReport] = []
        for target in try await targets(daemons) {
            let report = try await DaemonAnswer.wait(from: target.mountPoint, within: answerTime) {
                _ in try await target.client.programs()
            }
            reports.append(report)
        }
        if json { return try Console.printJSON(reports) }
        for report in reports {
            if reports.count > 1 { Console.printLine("\(report.mountPoint):") }
            Console.printLine(report.text(columns: Self.columns))
        }
    }

    /// Returns the targets of the paths. That asks the mounts, which may not answer.
    private func targets(_ daemons: Daemons) async throws -> [Daemons.Target] {
        let paths = path
        let place = (paths.isEmpty ? daemons.mountPoints : paths).joined(separator: ", ")
        return try await DaemonAnswer.wait(from: place, within: answerTime) { _ in
            try await onOwnThread { try daemons.targets(ofPathsOrAll: paths) }
        }
    }

    private func report(of target: Daemons.Target) async throws -> StatusReport {
        if retry { try await retry(target) }
        let limit = limit
        return try await DaemonAnswer.wait(from: target.mountPoint, within: answerTime) { _ in
            try await target.client.status(below: target.paths, limit: limit)
        }
    }

    /// Has the daemon try at once what failed or waits, and shows what is waited for.
    private func retry(_ target: Daemons.Target) async throws {
        let (time, isQuiet) = (retryTime, json)
        _ = try await DaemonAnswer.wait(from: target.mountPoint, within: time + answerTime) {
            answered in
            let line = Mutex(ProgressLine.standardError())
            defer { line.withLock { $0.finish() } }
            return try await target.client.sync(below: target.paths, timeout: time) { progress in
                answered()
                if !isQuiet { line.withLock { $0.show(progress) } }
            }
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
    private func showWaitingStates() async {
        guard path.isEmpty else { return }
        // This asks the mounts for their states; one that does not answer was named before.
        let states = try? await DaemonAnswer.wait(from: "", within: min(answerTime, .seconds(2))) {
            _ in
            try await onOwnThread { try StateInventory(MountTable.current()).waiting }
        }
        for state in states ?? [] {
            if json {
                Console.complain("note: \(state.waitingLine(columns: nil))")
            } else {
                Console.printLine(state.waitingLine(columns: Self.columns))
            }
        }
    }

    private static var columns: Int? { Terminal.columns(of: STDOUT_FILENO) }

    /// Shows a line for each mount and what needs attention, and continues after one that is dead.
    private func overview(_ daemons: Daemons) async throws {
        var reports: [StatusReport] = []
        var failure: ControlError?
        for mountPoint in daemons.mountPoints {
            do {
                let target = try await DaemonAnswer.wait(from: mountPoint, within: answerTime) {
                    _ in
                    try await onOwnThread { daemons.target(mountPoint: mountPoint) }
                }
                let report = try await report(of: target)
                reports.append(report)
                if !json {
                    Console.printLine(
                        all
                            ? text(report)
                            : report.overview(now: Date(), columns: Self.columns)
                                .joined(separator: "\n"))
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
