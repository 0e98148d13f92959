import ArgumentParser
import Control
import Engine
import Foundation
import Host
import Mount
import ProviderSupport
import Providers
import Transport

struct MountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mount",
        abstract: "Shows a cloud as a folder.",
        discussion: """
            Returns once the folder is usable; a daemon then serves it, and logs to the file `log` \
            in the state directory. Credentials come from the environment and the provider's \
            own files, never from the command line. A source that was mounted before needs no \
            remote: local files can be used, and changes are sent when it answers.

            EXAMPLES:
              apus mount folder:/srv/cloud ~/Cloud
              apus mount 'folder:/srv/cloud?latency=20ms&rate=10MiB' ~/Cloud --foreground
              apus mount folder:/srv/cloud ~/Cloud --cache-size 20GiB --refresh 1m
              apus mount webdav+https://cloud.example.org/dav ~/Cloud
              apus mount 's3://bucket/prefix?endpoint=https://s3.example.org' ~/Cloud
              apus mount 's3://bucket?metadata=listing' ~/Cloud  # modes and times as listed
              apus mount rclone:drive:Photos ~/Cloud
            """)

    @Argument(
        help: """
            The source: folder:PATH, webdav+https://HOST/PATH, s3://BUCKET/PREFIX or \
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
            The directory for the mount's state. (default: $XDG_STATE_HOME/apus/… or \
            ~/.local/state/apus/…, for root /var/lib/apus/…)
            """, valueName: "dir"),
        completion: .directory)
    var stateDir: String?

    @Option(
        help: ArgumentHelp(
            """
            How many bytes local copies may take, such as 20GiB; at least 64MiB. (default: a tenth of \
            the disk with the state directory, at most half of its free space)
            """, valueName: "size"),
        transform: parseCacheSize)
    var cacheSize: UInt64?

    @Option(
        help: ArgumentHelp(
            """
            The space that local copies leave free on the disk with the state directory, such as 20GiB or \
            10%; only changes that are not uploaded yet take more. (default: 10%, at most 5GiB)
            """, valueName: "size|percent"),
        transform: parseKeepFree)
    var keepFree: KeepFree = .standard

    @Option(
        help: ArgumentHelp(
            """
            How much memory buffers and caches of the daemon may take, such as 128MiB; at least 16MiB. \
            (default: 64MiB)
            """, valueName: "size"),
        transform: parseMemory)
    var memory: MemoryBudget = .standard

    @Option(
        help: ArgumentHelp(
            """
            How many bytes a second all transfers together may send and receive, such as 1MiB:10MiB, \
            :2MiB or off; see `apus bandwidth`. (default: as it was set last, at first off)
            """, valueName: "up:down"),
        transform: parseBandwidth)
    var bandwidth: Bandwidth?

    @Flag(help: "Refuse all changes.")
    var readOnly = false

    @Flag(help: "Do not let programs in the folder be run.")
    var noExec = false

    @Option(
        help: ArgumentHelp(
            "Interval at which folders in use are checked for remote changes. (default: 30s)",
            valueName: "time"),
        transform: Duration.parse)
    var refresh: Duration = .seconds(30)

    @Option(
        help: ArgumentHelp(
            """
            What programs get that need the remote while it is out of reach: fail, an error at once; \
            or wait, until it is back. (default: fail)
            """, valueName: "fail|wait"),
        completion: .list(["fail", "wait"]), transform: parseOffline)
    var offline: OfflineBehavior = .fail

    @Flag(help: "Give other users access, according to the files' modes.")
    var allowOther = false

    @Option(
        help: ArgumentHelp(
            "Show this owner for files of the user who mounts, as are all files of the remote.",
            valueName: "user"),
        transform: parseUser)
    var uid: UInt32?

    @Option(
        help: ArgumentHelp(
            "Show this group for files of the group of the user who mounts.", valueName: "group"),
        transform: parseGroup)
    var gid: UInt32?

    @Option(
        help: ArgumentHelp(
            """
            Permission bits that no file is shown with, in octal. Files without permissions on the \
            remote have all others from when they are first seen, such as 664 with 002. (default: \
            these have 644, folders 755)
            """, valueName: "mask"),
        transform: parseUmask)
    var umask: UInt32?

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in this PEM file instead of the system's.", valueName: "file"),
        completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp("The form of the log's lines.", valueName: "text|json"),
        completion: .list(["text", "json"]), transform: parseLogFormat)
    var logFormat: LogFormat = .text

    @Option(
        help: ArgumentHelp(
            """
            The least level that the log shows, of all modules or of some, such as \
            info,transport=debug. Levels: trace, debug, info, notice, warning, error, critical. \
            Modules: daemon, engine, mount, provider, transport, control. (default: info)
            """, valueName: "levels"),
        transform: parseLogLevels)
    var logLevel: LogLevels?

    @Flag(
        inversion: .prefixedNo,
        help: "Do not follow remote symbolic links that lead out of the mount.")
    var containSymlinks = true

    /// The pipe on which the daemon reports to the command that started it.
    @Option(help: .hidden)
    var readyDescriptor: Int32?

    func run() async throws {
        let report = StartReporter(descriptor: readyDescriptor)
        do {
            let options = try mountOptions()
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

    /// Returns the options after all checks that are possible before the start.
    private func mountOptions() throws -> MountOptions {
        let parsed = try parsedSource()
        let table = try MountTable.current()
        let resolved = try MountChecks.mountPoint(mountpoint, in: table)
        let stateDirectory = try stateDirectory(of: parsed)
        try MountChecks.separate(
            source: parsed, mountPoint: resolved, stateDirectory: stateDirectory, in: table)
        return MountOptions(
            source: parsed.description, mountPoint: resolved, stateDirectory: stateDirectory,
            cacheBytesMax: cacheSize, keepFree: keepFree, memory: memory, isReadOnly: readOnly,
            allowsExecution: !noExec, bandwidth: bandwidth, refresh: refresh, offline: offline,
            allowsOthers: allowOther, ownership: ownership, containsSymlinks: containSymlinks,
            caFile: try caFile.map(MountChecks.readable), logFormat: logFormat,
            logLevels: logLevel, isForeground: readyDescriptor == nil)
    }

    private var ownership: ShownOwnership {
        var ownership = ShownOwnership()
        (ownership.userID, ownership.groupID, ownership.umask) = (uid, gid, umask)
        return ownership
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

    /// The state belongs to the source, and is the same for another mount point.
    private func stateDirectory(of source: Source) throws -> String {
        if let stateDir {
            let path = Path.absolute(stateDir)
            guard !path.hasSuffix(StateDirectory.removalSuffix) else {
                throw CommandFailure(
                    what: "use the state directory \(path)",
                    why: "`apus forget` takes a directory with this name for a remainder",
                    remedy: "choose a name without \(StateDirectory.removalSuffix) at its end")
            }
            return path
        }
        return try StateDirectory.defaultPath(
            name: source.stateName, environment: ProcessInfo.processInfo.environment)
    }

    private static func parseCacheSize(_ text: String) throws -> UInt64 {
        let bytes = try parseSize(text, example: "20GiB or 500MiB")
        guard bytes >= CacheSize.bytesMin else {
            throw ValidationError("\"\(text)\" is too small for a cache; give at least 64MiB")
        }
        return bytes
    }

    private static func parseKeepFree(_ text: String) throws -> KeepFree {
        guard let keepFree = KeepFree(text) else {
            throw ValidationError("\"\(text)\" is no space; write it like 20GiB or 10%")
        }
        return keepFree
    }

    private static func parseMemory(_ text: String) throws -> MemoryBudget {
        let bytes = try parseSize(text, example: "64MiB or 1GiB")
        guard bytes >= MemoryBudget.bytesMin else {
            throw ValidationError("\"\(text)\" is too little memory; give at least 16MiB")
        }
        return MemoryBudget(bytes: min(bytes, MemoryBudget.bytesMax))
    }

    private static func parseBandwidth(_ text: String) throws -> Bandwidth {
        do {
            return try Bandwidth(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    private static func parseLogFormat(_ text: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: text) else {
            throw ValidationError("\"\(text)\" is not a form of the log; write text or json")
        }
        return format
    }

    private static func parseLogLevels(_ text: String) throws -> LogLevels {
        do {
            return try LogLevels(parsing: text)
        } catch {
            throw ValidationError(error.description)
        }
    }

    private static func parseSize(_ text: String, example: String) throws -> UInt64 {
        guard let bytes = HumanSize.parse(text) else {
            throw ValidationError("\"\(text)\" is not a size; write it like \(example)")
        }
        return bytes
    }

    private static func parseUser(_ text: String) throws -> UInt32 {
        if let number = UInt32(text), number != .max { return number }
        guard let user = getpwnam(text) else {
            throw ValidationError("there is no user \"\(text)\"")
        }
        return user.pointee.pw_uid
    }

    private static func parseGroup(_ text: String) throws -> UInt32 {
        if let number = UInt32(text), number != .max { return number }
        guard let group = getgrnam(text) else {
            throw ValidationError("there is no group \"\(text)\"")
        }
        return group.pointee.gr_gid
    }

    private static func parseUmask(_ text: String) throws -> UInt32 {
        guard let mask = UInt32(text, radix: 8), mask <= 0o777 else {
            throw ValidationError("\"\(text)\" is not a mask; write octal digits like 027")
        }
        guard mask & 0o500 == 0 else {
            throw ValidationError(
                "with the mask \(text) not even the owner could read files and enter folders; "
                    + "a mask has a first digit of 0 or 2, like 077")
        }
        return mask
    }

    private static func parseOffline(_ text: String) throws -> OfflineBehavior {
        guard let offline = OfflineBehavior(rawValue: text) else {
            throw ValidationError("\"\(text)\" is not a choice; write fail or wait")
        }
        return offline
    }
}
