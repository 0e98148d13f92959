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
        do {
            try await Daemons().targets(of: path).forEachMount { target in
                unpinned += try await target.client.unpin(target.paths).unpinned
            }
        } catch {
            if unpinned > 0 { try report(unpinned) }
            throw error
        }
        try report(unpinned)
    }

    private func report(_ unpinned: UInt64) throws {
        if json { return try Console.printJSON(UnpinReport(unpinned: unpinned)) }
        Console.printLine(unpinned == 1 ? "Unpinned 1 item." : "Unpinned \(unpinned) items.")
    }
}
