import ArgumentParser
import Control

struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keeps files and folders on this machine.",
        discussion: """
            Everything below a pinned folder is pinned, also what appears in it later. Pinned files are \
            fetched in the background, kept when space is needed, and fetched again when the remote \
            changes them. The command waits until they are here; interrupting it leaves the fetch to \
            the daemon. If all pinned files together do not fit the cache, nothing is pinned, and the \
            exit status is 1. Without a path, the pinned items of all mounts are listed.

            EXAMPLES:
              apus pin ~/Cloud/Photos
              apus pin ~/Cloud/Photos --no-wait
              apus pin --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(
        name: .customLong("no-wait"), help: "Return once they are pinned, before they are fetched.")
    var returnsEarly = false

    @Flag(help: "Print JSON: a line for each step, or a list with a report for each mount.")
    var json = false

    func run() async throws {
        if path.isEmpty { return try await list() }
        try await Daemons().targets(of: path).forEachMount(pin)
    }

    private func pin(_ target: Daemons.Target) async throws {
        let last: PinProgress
        if json {
            last = try await target.client.pin(target.paths, waits: !returnsEarly) { progress in
                try? Console.printJSON(progress, pretty: false)
            }
        } else {
            var line = ProgressLine.standardError()
            defer { line.finish() }
            last = try await target.client.pin(target.paths, waits: !returnsEarly) {
                line.show($0.line)
            }
        }
        if !json { Console.printLine("\(target.mountPoint): \(last.line).") }
        guard !returnsEarly, last.filesMissing > 0 else { return }
        let reason = last.hindrance?.why ?? last.failed.first.map { "\($0.path): \($0.error)" }
        throw CommandFailure(
            what: "fetch all pinned files", why: reason ?? "\(last.filesMissing) files are missing",
            remedy: "they stay pinned and are tried again; `apus status` shows what is missing")
    }

    /// Lists the pins of each mount, and continues after one that is dead.
    private func list() async throws {
        let daemons = try Daemons()
        var reports: [PinReport] = []
        var failure: ControlError?
        for mountPoint in daemons.mountPoints {
            do throws(ControlError) {
                let client = try daemons.target(mountPoint: mountPoint).client
                reports.append(try await client.pins())
            } catch {
                failure = failure ?? error
            }
        }
        if json { try Console.printJSON(reports) } else { show(reports) }
        if let failure { throw failure }
    }

    private func show(_ reports: [PinReport]) {
        let pinned = reports.filter { !$0.pins.isEmpty }
        if pinned.isEmpty { return Console.printLine("Nothing is pinned.") }
        for report in pinned {
            Console.printLine(report.mountPoint)
            for pin in report.pins { Console.printLine("  \(pin.line)") }
        }
    }
}
