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
            files: it does so in the background then, and at once if something needs the space.

            EXAMPLES:
              apus evict ~/Cloud/Photos
              apus evict ~/Cloud --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String]

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        var total = EvictReport.nothing
        for target in try Daemons().targets(of: path) {
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

    private func evict(_ target: Daemons.Target) async throws -> EvictReport {
        if json { return try await target.client.evict(target.paths) }
        let line = Mutex(ProgressLine.standardError())
        defer { line.withLock { $0.finish() } }
        return try await target.client.evict(target.paths, reportingEvery: .seconds(1)) { freed in
            line.withLock { $0.show("Freed \(HumanSize.format(freed)) so far.") }
        }
    }
}
