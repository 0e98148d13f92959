import ArgumentParser
import Control

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Creates a public link to a file or folder.",
        discussion: """
            Anyone can read the item at that address. Works for clouds in which rclone can create such \
            links: Google Drive, Dropbox, OneDrive, S3 through rclone and others. The cloud decides \
            how long the link lasts; in many, `rclone link --unlink` revokes it.

            EXAMPLES:
              apus link ~/Cloud/Photos/a.jpg
              apus link ~/Cloud/Photos --json
            """)

    @Argument(help: "The item to link to.", completion: .file())
    var path: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let (client, place) = try Daemons().place(path)
        let report = try await client.link(to: place)
        if json { return try Console.printJSON(report) }
        Console.printLine(report.url)
    }
}
