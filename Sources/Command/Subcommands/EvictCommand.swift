import ArgumentParser
import Control
import Synchronization

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Frees the local copies of files; they stay on the remote.",
        discussion: """
            Pinned items, and files with changes that are not on the remote, are kept and listed with \
            the reason; the exit status is then 1. The disk may need a while to remove thousands of \
            files: it does so in the background then, and at once if something needs the space. While \
            the remote is out of reach, a note says that the evicted files cannot be read until it is \
            back.

            EXAMPLES:
              apus evict ~/Cloud/Photos
              apus evict ~/Cloud --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String]

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        // Before anything is freed, as it comes too late afterwards.
        let targets = try Daemons().targets(of: path)
        for target in targets { try await warnIfUnreachable(target) }
        var total = EvictReport.nothing
        for target in targets {
            let report = try await evict(target)
            total.files += report.files
            total.bytesFreed += report.bytesFreed
            total.bytesLeaving += report.bytesLeaving
            total.refused += report.refused
        }
        if json {
            try Console.printJSON(total)
        } else {
            total.refusalLines.forEach { Console.printLine("Kept \($0).") }
            Console.printLine(total.line)
        }
        guard total.refused.isEmpty else {
            throw CommandFailure(
                what: "evict everything",
                why: total.refused.count == 1
                    ? "1 item was kept: \(total.refusalLines[0])"
                    : "\(total.refused.count) items were kept, each for the reason above")
        }
    }

    private func warnIfUnreachable(_ target: Daemons.Target) async throws {
        let remote = try await target.client.status(below: [], limit: 0).remote
        guard !remote.isReachable else { return }
        Console.complain(
            remote.refusesCredentials
                ? "note: the remote of \(target.mountPoint) refuses the credentials: evicted files "
                    + "cannot be read until it accepts them"
                : "note: the remote of \(target.mountPoint) is out of reach: evicted files cannot "
                    + "be read until it is back")
    }

    private func evict(_ target: Daemons.Target) async throws -> EvictReport {
        if json { return try await target.client.evict(target.paths) }
        let line = Mutex(ProgressLine.standardError())
        defer { line.withLock { $0.finish() } }
        return try await target.client.evict(target.paths, reportingEvery: .seconds(1)) { freed in
            line.withLock { $0.show("Freed \(HumanSize.format(freed)) so far.") }
        }
    }
}
