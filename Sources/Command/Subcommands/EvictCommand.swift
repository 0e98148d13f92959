import ArgumentParser
import Control

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Frees the local copies of files; they stay on the remote.",
        discussion: """
            Files with changes that are not on the remote are kept and listed with the reason; the \
            exit status is then 1.

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
                    ? "1 file was kept: \(total.refusalLines[0])"
                    : "\(total.refused.count) files were kept, each for the reason above")
        }
    }

    private func evict(_ target: Daemons.Target) async throws -> EvictReport {
        let showsProgress = !json
        return try await withThrowingTaskGroup(of: EvictReport?.self) { group in
            group.addTask { try await target.client.evict(target.paths) }
            group.addTask {
                if showsProgress { await Self.showProgress(of: target.client) }
                return nil
            }
            defer { group.cancelAll() }
            while let report = try await group.next() {
                if let report { return report }
            }
            preconditionFailure("an eviction returns a report, or throws")
        }
    }

    /// Shows how much is freed, if that takes longer than a second, until it is cancelled.
    private static func showProgress(of client: ControlClient) async {
        func localBytes() async throws -> UInt64 {
            try await client.status(below: [], limit: 1).counts.localBytes
        }
        var line = ProgressLine.standardError()
        guard let before = try? await localBytes() else { return }
        while (try? await Task.sleep(for: .seconds(1))) != nil, let now = try? await localBytes() {
            line.show("Freed \(HumanSize.format(before - min(before, now))) so far.")
        }
        line.finish()
    }
}
