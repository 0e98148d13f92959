import ArgumentParser
import Control

struct RefreshCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refresh",
        abstract: "Looks at the remote now for changes by others.",
        discussion: """
            Folders in use are looked at by themselves, see --refresh of `apus mount`. This command \
            looks at all known folders below the paths at once, and returns when their changes are shown. \
            Folders that were never opened are looked at when they are. Without a path, this applies \
            to every mount.

            EXAMPLES:
              apus refresh ~/Cloud/Photos
              apus refresh --json
            """)

    @Argument(help: "Files and folders, with everything below.", completion: .file())
    var path: [String] = []

    @Flag(help: "Print JSON, a line for each step.")
    var json = false

    func run() async throws {
        try await Daemons().targets(ofPathsOrAll: path).forEachMount(refresh)
    }

    private func refresh(_ target: Daemons.Target) async throws {
        if json {
            _ = try await target.client.refresh(target.paths) { progress in
                try? Console.printJSON(progress, pretty: false)
            }
            return
        }
        var line = ProgressLine.standardError()
        defer { line.finish() }
        let last = try await target.client.refresh(target.paths) { progress in
            if !progress.isDone {
                line.show("Looked at \(counted(progress.folders, "folder", "folders")) so far.")
            }
        }
        line.finish()
        let folders = last.folders == 1 ? "1 folder is" : "\(last.folders) folders are"
        Console.printLine("\(target.mountPoint): \(folders) up to date.")
    }
}
