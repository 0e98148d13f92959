import ArgumentParser
import Control
import Foundation

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Shows changes as they are made, here and on the remote.",
        discussion: """
            Prints a line for each file and folder that is created, changed, moved or removed, by a \
            program on this machine or by another client of the remote; uploaded, once all its \
            changes are on the remote; or that gives its name to another version (conflict). \
            inotify tells programs nothing about remote changes. A move may replace a file. \
            Names in a folder that was never opened here are not known, and not reported. Remote \
            changes are seen as described for --refresh of `apus mount`.

            With --json, each line is an object with a cursor; --since continues after it, also \
            after the mount or this program was stopped. The last 100,000 changes are kept, from \
            the first watch until a mount that begins a week after the last one. If some of the requested changes are not \
            known any more, the command fails.

            EXAMPLES:
              apus watch
              apus watch ~/Cloud/Photos
              apus watch ~/Cloud --json
              apus watch ~/Cloud --json --since 5f0c2a9be3d41c77.1042
            """)

    @Argument(help: "A mount, or a file or folder in one.", completion: .file())
    var path: String?

    @Flag(help: "Print an object a line; the first one has only the cursor of the beginning.")
    var json = false

    @Option(help: ArgumentHelp("Begin after this change.", valueName: "cursor"))
    var since: String?

    func run() async throws {
        let targets = try Daemons().targets(ofPathsOrAll: path.map { [$0] } ?? [])
        guard let target = targets.first, targets.count == 1 else {
            throw CommandFailure(
                what: "watch",
                why: targets.isEmpty ? "nothing is mounted" : "there are several mounts",
                remedy: targets.isEmpty
                    ? nil : "name one of them: \(targets.map(\.mountPoint).joined(separator: ", "))"
            )
        }
        try await target.client.watchChanges(since: since, below: target.paths) { event in
            if json {
                try? Console.printJSON(event, pretty: false)
            } else if let line = event.line() {
                Console.printLine(line)
            }
        }
        // Only the end of the daemon ends the stream.
        throw CommandFailure(
            what: "watch \(target.mountPoint)", why: "it is not mounted any more",
            remedy: since == nil && !json ? nil : "mount it again, and use --since")
    }
}
