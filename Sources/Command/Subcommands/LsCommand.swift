import ArgumentParser
import Control
import Foundation

struct LsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "Lists names with their state.",
        discussion: """
            The state is one of: remote, no bytes are on this disk; partial; local; dirty, changed and \
            not on the remote yet; excluded, by `--exclude`; uploading n %; conflict, displaced by a remote \
            version; held, deleted on the remote until `apus confirm-deletions`; failed, see `apus status`. Pinned means local, \
            and kept so; it follows any other state of what is pinned. Of a folder, local and pinned mean \
            that its names are known. Names are sorted by their bytes; those of folders end with a slash.

            EXAMPLES:
              apus ls ~/Cloud
              apus ls -l ~/Cloud/Photos ~/Cloud/plan.txt
              apus ls --json ~/Cloud
            """)

    @Argument(
        help: "Folders, and files by themselves; by default the current folder.",
        completion: .file())
    var path: [String] = []

    @Flag(name: .short, help: "Add the size and the modification time.")
    var long = false

    @Flag(help: "Print JSON: a list with an object for each name.")
    var json = false

    func run() async throws {
        let daemons = try Daemons()
        let paths = path.isEmpty ? ["."] : path
        let places = try paths.map { try daemons.place($0) }
        var list = JSONListWriter()
        for (text, place) in zip(paths, places) {
            if !json, paths.count > 1 { Console.printLine("\(text.shellEscaped):") }
            try await place.client.list(place.path) { page in
                if json {
                    list.write(page.items)
                } else {
                    printText(page, of: place.path, as: text)
                }
            }
        }
        if json { list.finish() }
    }

    /// - Parameter text: The path as it was given, which is the name of an item that is not a folder.
    private func printText(_ page: ListPage, of path: String, as text: String) {
        let lines = page.items.map { item in
            item.line(name: item.path == path ? text : nil, isLong: long)
        }
        if !lines.isEmpty { Console.printLine(lines.joined(separator: "\n")) }
    }
}
