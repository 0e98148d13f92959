import Control
import Engine
import Host
import Mount
import Transport

/// The options of `apus mount`, checked and with absolute paths.
struct MountOptions: Sendable {
    /// The source in its canonical form, which has the same meaning in any directory.
    let source: String
    /// An empty directory, without symbolic links.
    let mountPoint: String
    let stateDirectory: String
    /// nil for the default, see `CacheSize`.
    let cacheBytesMax: UInt64?
    let keepFree: KeepFree
    let memory: MemoryBudget
    let isReadOnly: Bool
    /// Whether programs in the mount can be run.
    let allowsExecution: Bool
    /// nil for the one that was set last.
    let bandwidth: Bandwidth?
    /// The interval at which directories in use are checked for remote changes.
    let refresh: Duration
    /// The names that are neither shown nor sent.
    let exclude: [ExclusionPattern]
    /// Programs beside those of `Scanners` that get only the ranges that they read.
    let scanners: [String]
    let offline: OfflineBehavior
    /// Whether users other than the one who mounts have access.
    let allowsOthers: Bool
    /// The owner and the permissions that are shown.
    let ownership: ShownOwnership
    /// Whether remote symbolic links that lead out of the mount are not followed.
    let containsSymlinks: Bool
    /// A PEM file with the certificate authorities that replace the system's.
    let caFile: String?
    /// How long SIGTERM waits for uploads; nil for the default.
    let stopTimeout: Duration?
    /// The address at which the store's notifications are taken; nil for none.
    let webhook: Webhook?
    let logFormat: LogFormat
    /// nil for those of the environment, see ``DaemonLog``.
    let logLevels: LogLevels?
    /// Whether this process keeps its terminal; otherwise it writes to the log file.
    let isForeground: Bool

    /// The arguments with which this program, as a daemon, mounts with these options.
    func arguments(readyDescriptor: Int32) -> [String] {
        var arguments = [
            "mount", "--ready-descriptor", "\(readyDescriptor)", "--state-dir", stateDirectory,
            "--refresh", "\(Int(refresh / .milliseconds(1)))ms",
        ]
        if let cacheBytesMax { arguments += ["--cache-size", "\(cacheBytesMax)"] }
        if let text = keepFree.text { arguments += ["--keep-free", text] }
        if memory != .standard { arguments += ["--memory", "\(memory.bytes)"] }
        if let bandwidth { arguments += ["--bandwidth", bandwidth.text] }
        arguments += exclude.map { "--exclude=\($0.text)" }
        arguments += scanners.map { "--scanner=\($0)" }
        if offline != .fail { arguments += ["--offline", offline.rawValue] }
        if isReadOnly { arguments.append("--read-only") }
        if !allowsExecution { arguments.append("--no-exec") }
        if allowsOthers { arguments.append("--allow-other") }
        if let userID = ownership.userID { arguments += ["--uid", "\(userID)"] }
        if let groupID = ownership.groupID { arguments += ["--gid", "\(groupID)"] }
        if let umask = ownership.umask { arguments += ["--umask", String(umask, radix: 8)] }
        if !containsSymlinks { arguments.append("--no-contain-symlinks") }
        if logFormat != .text { arguments += ["--log-format", logFormat.rawValue] }
        if let logLevels { arguments += ["--log-level", logLevels.text] }
        if let caFile { arguments += ["--ca-file", caFile] }
        if let stopTimeout {
            arguments += ["--stop-timeout", "\(Int(stopTimeout / .milliseconds(1)))ms"]
        }
        if let webhook {
            arguments += ["--webhook", "\(webhook.address)"]
            arguments += ["--webhook-token-file", webhook.tokenFile]
        }
        return arguments + ["--", source, mountPoint]
    }

    /// A server for notifications.
    struct Webhook: Sendable {
        let address: WebhookAddress
        let tokenFile: String
        let token: WebhookToken
    }
}
