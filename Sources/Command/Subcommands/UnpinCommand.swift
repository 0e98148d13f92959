import ArgumentParser
import Control

struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Ends the pinning of files and folders.",
        discussion: """
            Applies to the paths and to everything that is pinned below them. The local copies stay until \
            space is needed; `apus evict` frees them at once.

            EXAMPLES:
              apus unpin ~/Cloud/Photos
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String]

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        var unpinned: UInt64 = 0
        for target in try Daemons().targets(of: path) {
            unpinned += try await target.client.unpin(target.paths).unpinned
        }
        if json { return try Console.printJSON(UnpinReport(unpinned: unpinned)) }
        Console.printLine(unpinned == 1 ? "Unpinned 1 item." : "Unpinned \(unpinned) items.")
    }
}
