import ArgumentParser
import Control
import Glibc
import Synchronization

struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Returns when everything below the paths is on the remote.",
        discussion: """
            Without a path, this applies to every mount; one whose daemon is dead does not keep it from \
            the others. What programs go on writing to files that were open at its begin is not waited \
            for. Items that cannot be sent are listed with the reason, at most 20 of them; the exit \
            status is then 1. Failed attempts are repeated, but not waited for once nothing was sent for \
            30 seconds; they go on without this command. So does a deletion or a move that the remote has \
            not answered for a minute. What is waited for is shown meanwhile, with how long it has been \
            under way, or the reason and the next attempt. With --timeout, this ends after that time, for \
            each mount; what still waits is listed with the reason, since when, and the next attempt.

            EXAMPLES:
              apus sync ~/Cloud/Photos
              apus sync ~/Cloud --timeout 10m
              apus sync --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Option(
        help: ArgumentHelp("The time after which this ends, such as 90s.", valueName: "time"),
        transform: Duration.parse)
    var timeout: Duration?

    @Flag(help: "Print JSON, a line for each step.")
    var json = false

    func run() async throws {
        var isTimedOut = false
        var failures: [SyncProgress.Failure] = []
        var unsent: UInt64 = 0
        try await targets().forEachMount { target in
            let last = try await sync(target)
            failures += last.failed
            unsent += last.unsent
            isTimedOut = isTimedOut || last.isTimedOut
        }
        if isTimedOut {
            throw CommandFailure(
                what: "send everything to the remote in time",
                why: "\(counted(unsent, "item still waits", "items still wait"))",
                remedy: "they stay queued; `apus status` shows each with its reason")
        }
        guard let first = failures.first else { return }
        throw CommandFailure(
            what: "send everything to the remote",
            why: failures.count == 1
                ? first.line(columns: Terminal.columns(of: STDERR_FILENO))
                : "\(unsent) items failed",
            remedy: "`apus status` shows each with its reason")
    }

    /// Returns the targets of the paths. That asks the mounts, which may not answer.
    private func targets() async throws -> [Daemons.Target] {
        let (daemons, paths) = (try Daemons(), path)
        let place = (paths.isEmpty ? daemons.mountPoints : paths).joined(separator: ", ")
        return try await DaemonAnswer.wait(
            from: place, within: timeout.map { $0 + DaemonAnswer.grace }
        ) { _ in
            try await onOwnThread { try daemons.targets(ofPathsOrAll: paths) }
        }
    }

    private func sync(_ target: Daemons.Target) async throws -> SyncProgress {
        let (timeout, json) = (timeout, json)
        let last = try await DaemonAnswer.wait(
            from: target.mountPoint, within: timeout.map { $0 + DaemonAnswer.grace }
        ) { answered in
            let line = Mutex(ProgressLine.standardError())
            defer { line.withLock { $0.finish() } }
            return try await target.client.sync(below: target.paths, timeout: timeout) {
                progress in
                answered()
                if json {
                    try? Console.printJSON(progress, pretty: false)
                } else {
                    line.withLock { $0.show(progress) }
                }
            }
        }
        if json { return last }
        Console.printFailures(of: last)
        Console.printLine("\(target.mountPoint): \(last.line).")
        return last
    }
}
