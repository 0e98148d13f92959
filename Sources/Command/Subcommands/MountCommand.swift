import ArgumentParser
import Control
import Foundation
import Host
import ProviderSupport
import Providers

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Shows a cloud as a folder.",
        discussion: """
            Returns once the folder is usable; a daemon goes on serving it, and logs to the file \
            `log` in the state directory. Credentials come from the environment and the provider's \
            own files, never from the command line.

            EXAMPLES:
              apus mount folder:/srv/cloud ~/Cloud
              apus mount 'folder:/srv/cloud?latency=20ms&rate=10MiB' ~/Cloud --foreground
              apus mount folder:/srv/cloud ~/Cloud --cache-size 20GiB --refresh 1m
              apus mount webdav+https://cloud.example.org/dav ~/Cloud
              apus mount 's3://bucket/prefix?endpoint=https://s3.example.org' ~/Cloud
              apus mount rclone:drive:Photos ~/Cloud
            """)

    @Argument(
        help: """
            What to mount: folder:PATH, webdav+https://HOST/PATH, s3://BUCKET/PREFIX or \
            rclone:REMOTE:PATH.
            """)
    var source: String

    @Argument(help: "An empty folder.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Stay in the foreground and log to standard error; Ctrl-C unmounts.")
    var foreground = false

    @Option(
        help: ArgumentHelp(
            """
            Where the mount keeps its state. (default: $XDG_STATE_HOME/apus/… or \
            ~/.local/state/apus/…, for root /var/lib/apus/…)
            """, valueName: "dir"),
        completion: .directory)
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            "How many bytes local copies may take, such as 20GiB.", valueName: "size"),
        transform: parseSize)
    var cacheSize: UInt64?

    @Flag(help: "Refuse all changes.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "How often folders in use look for remote changes. (default: 30s)", valueName: "time"),
        transform: parseDuration)
    var refresh: Duration = .seconds(30)

    @Flag(help: "Let other users in, as the files' modes say.")
    var allowOther = false

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in this PEM file instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Flag(
        inversion: .prefixedNo,
        help: "Do not follow symbolic links of the remote's that lead out of the mount.")
    var containSymlinks = true

    /// Where the daemon tells the command that started it how the start went.
    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func run() async throws {
        let report = StartReporter(descriptor: readyDescriptor)
        do {
            let options = try mountOptions()
            if foreground || readyDescriptor != nil {
                report.endWithAsker()
                try await runDaemon(options, waitsFor: { report.waits(for: $0) }) {
                    report.ready(options, notes: $0)
                }
            } else {
                try await DaemonLauncher(options: options).launch()
            }
        } catch {
            report.failed(error)
            // The log of a daemon has it already, with its time.
            throw readyDescriptor == nil ? error : ExitCode.failure
        }
    }

    /// What was asked for, checked as far as that goes without starting.
    private func mountOptions() throws -> MountOptions {
        let parsed = try parsedSource()
        let resolved = try MountChecks.mountPoint(mountpoint, in: try MountTable.current())
        return MountOptions(
            source: parsed.description, mountPoint: resolved,
            stateDirectory: try stateDirectory(of: parsed),
            cacheBytesMax: cacheSize, isReadOnly: readOnly, refresh: refresh,
            allowsOthers: allowOther, containsSymlinks: containSymlinks,
            caFile: try caFile.map(MountChecks.readable), isForeground: readyDescriptor == nil)
    }

    private func parsedSource() throws -> Source {
        do {
            return try Source(parsing: source)
        } catch {
            throw CommandFailure(
                what: "mount \(Source.withoutSecrets(source))", why: error.problem,
                remedy: error.remedy)
        }
    }

    /// The state belongs to the source: mounted elsewhere, it goes on where it stopped.
    private func stateDirectory(of source: Source) throws -> String {
        if let stateDir { return Path.absolute(stateDir) }
        return try StateDirectory.defaultPath(
            name: source.stateName, environment: ProcessInfo.processInfo.environment)
    }

    private static func parseSize(_ text: String) throws -> UInt64 {
        guard let bytes = HumanSize.parse(text), bytes > 0 else {
            throw ValidationError("\"\(text)\" is no size; write it like 20GiB or 500MiB")
        }
        return bytes
    }

    private static func parseDuration(_ text: String) throws -> Duration {
        guard let duration = HumanDuration.parse(text), duration > .zero else {
            throw ValidationError("\"\(text)\" is no time; write it like 30s or 5m")
        }
        return duration
    }
}
