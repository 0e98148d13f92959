/// What `apus mount` was asked for, checked and with absolute paths.
struct MountOptions: Sendable {
    /// What is mounted, as a `Source` writes itself: it means the same in any directory.
    let source: String
    /// An empty directory, without symbolic links.
    let mountPoint: String
    let stateDirectory: String
    /// nil for the default, see `CacheSize`.
    let cacheBytesMax: UInt64?
    let isReadOnly: Bool
    /// How often directories in use look for remote changes.
    let refresh: Duration
    /// Whether other users than the one who mounts are let in.
    let allowsOthers: Bool
    /// Whether symbolic links of the remote's that lead out of the mount are not followed.
    let containsSymlinks: Bool
    /// A PEM file with the authorities that are trusted instead of the system's.
    let caFile: String?
    /// Whether this process keeps its terminal; else its output goes to the log file.
    let isForeground: Bool

    /// The arguments that make a daemon of the same program do this, source and mount point last.
    func arguments(readyDescriptor: Int32) -> [String] {
        var arguments = [
            "mount", "--ready-descriptor", "\(readyDescriptor)", "--state-dir", stateDirectory,
            "--refresh", "\(refresh.components.seconds * 1000 + milliseconds)ms",
        ]
        if let cacheBytesMax { arguments += ["--cache-size", "\(cacheBytesMax)"] }
        if isReadOnly { arguments.append("--read-only") }
        if allowsOthers { arguments.append("--allow-other") }
        if !containsSymlinks { arguments.append("--no-contain-symlinks") }
        if let caFile { arguments += ["--ca-file", caFile] }
        return arguments + ["--", source, mountPoint]
    }

    private var milliseconds: Int64 { refresh.components.attoseconds / 1_000_000_000_000_000 }
}
