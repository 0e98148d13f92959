import ArgumentParser
import Control
import Engine
import Foundation
import Host
import Mount
import Transport

/// The options of a mount that the command line, fstab(5) and the configuration file have in common, as far
/// as they are given. ``MountOption`` lists them.
struct MountSettings: ParsableArguments {
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
    var keepFree: KeepFree?

    @Option(
        help: ArgumentHelp(
            """
            How much memory buffers and caches of the daemon may take, such as 128MiB; at least 16MiB. \
            (default: 64MiB)
            """, valueName: "size"),
        transform: parseMemory)
    var memory: MemoryBudget?

    @Option(
        help: ArgumentHelp(
            """
            How many bytes a second all transfers together may send and receive, such as 1MiB:10MiB, \
            :2MiB or off; see `apus bandwidth`. (default: as it was set last, at first off)
            """, valueName: "up:down"),
        transform: parseBandwidth)
    var bandwidth: Bandwidth?

    @Flag(inversion: .prefixedNo, help: "Refuse all changes. (default: --no-read-only)")
    var readOnly: Bool?

    @Flag(inversion: .prefixedNo, help: "Let programs in the folder be run. (default: --exec)")
    var exec: Bool?

    @Option(
        help: ArgumentHelp(
            "Interval at which folders in use are checked for remote changes. (default: 30s)",
            valueName: "time"),
        transform: Duration.parse)
    var refresh: Duration?

    @Option(
        help: ArgumentHelp(
            """
            Neither show nor send names like this, such as .DS_Store or '~$*'; with a slash, paths from the \
            mount point. Files with such names stay on this machine. May be repeated.
            """, valueName: "pattern"),
        transform: parseExclusion)
    var exclude: [ExclusionPattern] = []

    @Option(
        help: ArgumentHelp(
            """
            A program that reads many files in passing, by the name of its executable file or script: it gets \
            the ranges that it reads, and no more is fetched for it. May be repeated. (default: the indexers \
            and makers of thumbnails of GNOME, KDE, Xfce and locate, which such names are added to)
            """, valueName: "program"),
        transform: ScannerName.parse)
    var scanner: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            What programs get that need the remote while it is out of reach: fail, an error at once; \
            or wait, until it is back. (default: fail)
            """, valueName: "fail|wait"),
        completion: .list(["fail", "wait"]), transform: parseOffline)
    var offline: OfflineBehavior?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Give other users access, according to the files' modes. (default: --no-allow-other)
            """)
    var allowOther: Bool?

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
        help: ArgumentHelp("The form of the log's lines. (default: text)", valueName: "text|json"),
        completion: .list(["text", "json"]), transform: parseLogFormat)
    var logFormat: LogFormat?

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
        help: """
            Do not follow remote symbolic links that lead out of the mount. (default: \
            --contain-symlinks)
            """)
    var containSymlinks: Bool?

    @Option(
        help: ArgumentHelp(
            """
            How long SIGTERM waits for uploads before it unmounts; changes that are left are sent by the \
            next mount. (default: 0s, as a service of systemd 80s)
            """, valueName: "time"),
        transform: parseTimeOrZero)
    var stopTimeout: Duration?

    @Option(
        help: ArgumentHelp(
            """
            Take the notifications that the store of an s3: source sends about its bucket, as POST \
            requests to http://HOST:PORT/notifications, so that changes of others show at once.
            """, valueName: "host:port"),
        transform: parseWebhook)
    var webhook: WebhookAddress?

    @Option(
        help: ArgumentHelp(
            """
            The file with the secret that these requests carry, as a bearer token or as the password of \
            any user; only its owner may have access to it.
            """, valueName: "file"),
        completion: .file())
    var webhookTokenFile: String?

    var ownership: ShownOwnership {
        var ownership = ShownOwnership()
        (ownership.userID, ownership.groupID, ownership.umask) = (uid, gid, umask)
        return ownership
    }

    /// Returns these settings, with those that are not given taken from others.
    func completed(by others: MountSettings) -> MountSettings {
        MountOption.all.reduce(into: self) { $1.complete(&$0, others) }
    }
}

// MARK: - Values

extension MountSettings {
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

    private static func parseExclusion(_ text: String) throws -> ExclusionPattern {
        do {
            return try ExclusionPattern(text)
        } catch {
            throw ValidationError(
                "the pattern \"\(text)\" is refused: \(error.why); \(error.remedy)")
        }
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

    private static func parseTimeOrZero(_ text: String) throws -> Duration {
        guard let duration = HumanDuration.parse(text) else {
            throw ValidationError("\"\(text)\" is not a time; write it like 30s or 5m")
        }
        return duration
    }

    private static func parseWebhook(_ text: String) throws -> WebhookAddress {
        guard let address = WebhookAddress(text) else {
            throw ValidationError(
                "\"\(text)\" is not an address; write it like 127.0.0.1:8399 or [::1]:8399")
        }
        return address
    }

    private static func parseOffline(_ text: String) throws -> OfflineBehavior {
        guard let offline = OfflineBehavior(rawValue: text) else {
            throw ValidationError("\"\(text)\" is not a choice; write fail or wait")
        }
        return offline
    }
}
