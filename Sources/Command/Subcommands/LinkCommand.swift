import ArgumentParser
import Control

struct LinkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Makes a link under which everybody may read a file or folder.",
        discussion: """
            Works where rclone can make such links: Google Drive, Dropbox, OneDrive, S3 through rclone \
            and others. How long it lasts, and what takes it back, is the cloud's to say; often \
            `rclone link --unlink` does.

            EXAMPLES:
              apus link ~/Cloud/Photos/a.jpg
              apus link ~/Cloud/Photos --json
            """)

    @Argument(help: "What to make a link to.", completion: .file())
    var path: String

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        guard let target = try Daemons().targets(of: [path]).first,
            let place = target.paths.first
        else { return }
        let report = try await target.client.link(to: place)
        if json { return try Console.printJSON(report) }
        Console.printLine(report.url)
    }
}
