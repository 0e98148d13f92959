import ArgumentParser
import Control
import Glibc
import Transport

struct BandwidthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bandwidth",
        abstract: "Shows or sets how many bytes a second a mount may send and receive.",
        discussion: """
            The limit is of all transfers of the mount together. It holds at once, also for those \
            under way, and for later mounts of the source, until another one is given. Short answers \
            have precedence over files, so that folders can be looked at meanwhile. Without a limit, \
            the present ones are shown.

            EXAMPLES:
              apus bandwidth
              apus bandwidth ~/Cloud
              apus bandwidth ~/Cloud 1MiB:10MiB
              apus bandwidth ~/Cloud :2MiB      # only downloads
              apus bandwidth off                # of the only mount
            """)

    @Argument(help: "A folder that is mounted; may be left out if there is only one.")
    var mount: String?

    @Argument(
        help: "UP:DOWN, such as 1MiB:10MiB; a direction without a size is not limited; or off.")
    var limit: String?

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        _ = try arguments()
    }

    func run() async throws {
        let (path, limit) = try arguments()
        let targets = try Daemons().targets(ofPathsOrAll: path.map { [$0] } ?? [])
        guard limit == nil || targets.count == 1 else {
            throw CommandFailure(
                what: "set the bandwidth", why: "there are several mounts",
                remedy: "name one of them: \(targets.map(\.mountPoint).joined(separator: ", "))")
        }
        var reports: [BandwidthReport] = []
        for target in targets {
            reports.append(
                limit == nil
                    ? try await target.client.bandwidth()
                    : try await target.client.setBandwidth(limit ?? .unlimited))
        }
        if json { return try Console.printJSON(reports) }
        for report in reports {
            Console.printLine("\(report.mountPoint): \(report.bandwidth.phrase)")
        }
    }

    /// A single argument is a limit if it reads as one.
    private func arguments() throws -> (path: String?, limit: Bandwidth?) {
        guard let mount else { return (nil, nil) }
        if let limit { return (mount, try parse(limit)) }
        if let only = try? Bandwidth(parsing: mount) { return (nil, only) }
        // A mistyped limit is not a path that does not exist.
        let looksLikeOne = mount.contains(":") || HumanSize.parse(mount) != nil
        if looksLikeOne, access(mount, F_OK) != 0 { return (nil, try parse(mount)) }
        return (mount, nil)
    }

    private func parse(_ text: String) throws -> Bandwidth {
        do {
            return try Bandwidth(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }
}
