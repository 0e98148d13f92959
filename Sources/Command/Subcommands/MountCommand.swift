import ArgumentParser
import Control

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Shows a cloud as a folder.",
        discussion: """
            Returns once the folder is usable; a daemon then serves it, and logs to the file `log` \
            in the state directory. Credentials come from the environment and the provider's \
            own files, never from the command line. A source that was mounted before needs no \
            remote: local files can be used, and changes are sent when it answers.

            Exit status: 0 for success, 1 for failure, 2 for bad usage. With --foreground, 78 for a source, a \
            name or a configuration file that is wrong: a service need not try again.

            EXAMPLES:
              apus mount folder:/srv/cloud ~/Cloud
              apus mount 'folder:/srv/cloud?latency=20ms&rate=10MiB' ~/Cloud --foreground
              apus mount folder:/srv/cloud ~/Cloud --cache-size 20GiB --refresh 1m
              apus mount webdav+https://cloud.example.org/dav ~/Cloud
              apus mount 's3://bucket/prefix?endpoint=https://s3.example.org' ~/Cloud
              apus mount 's3://bucket?metadata=listing' ~/Cloud  # modes and times as listed
              apus mount s3://bucket ~/Cloud --webhook 127.0.0.1:8399 --webhook-token-file token
              apus mount rclone:drive:Photos ~/Cloud
              apus mount photos  # a mount of the configuration file
            """)

    @Argument(
        help: """
            The source: folder:PATH, webdav+https://HOST/PATH, s3://BUCKET/PREFIX or \
            rclone:REMOTE:PATH; or the name of a mount in the configuration file, see apus(5).
            """,
        completion: .configuredMounts)
    var source: String

    @Argument(
        help: "An empty folder. (default for a name: the path in the configuration file)",
        completion: .directory)
    var mountpoint: String?

    @Flag(help: "Stay in the foreground and log to standard error; Ctrl-C unmounts.")
    var foreground = false

    @OptionGroup var settings: MountSettings

    /// The pipe on which the daemon reports to the command that started it.
    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func validate() throws {
        guard mountpoint == nil, !MountName.isName(source) else { return }
        throw ValidationError("Missing expected argument '<mountpoint>'")
    }

    /// - Throws: `CommandFailure` for a wrong source or configuration file.
    var request: MountRequest {
        get throws { try MountRequest(source, on: mountpoint, settings) }
    }

    /// See sysexits(3). The units of systemd do not start a service again that has ended with it.
    private static let wrongConfiguration = ExitCode(78)

    /// Returns the request. In the foreground, a wrong one ends the command with a status of its own.
    private func requestOfService() throws -> MountRequest {
        do {
            return try request
        } catch {
            guard foreground, let failure = CommandFailure(error) else { throw error }
            Console.complain(failure.problem.description)
            throw Self.wrongConfiguration
        }
    }

    func run() async throws {
        let report = StartReporter(descriptor: readyDescriptor)
        do {
            let request = try requestOfService()
            try await request.removeDeadMount()
            let options = try request.options(isForeground: readyDescriptor == nil)
            if foreground || readyDescriptor != nil {
                report.endWithParent()
                try await runDaemon(options, waitsFor: { report.waits(for: $0) }) {
                    report.ready(options, notes: $0)
                }
            } else {
                try await DaemonLauncher(options: options).launch()
            }
        } catch {
            report.failed(error)
            // A daemon has already logged it.
            throw readyDescriptor == nil ? error : ExitCode.failure
        }
    }
}
