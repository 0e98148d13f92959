/// One option after `-o`, in the words of mount(8) or of `apus mount`.
struct MountHelperOption {
    /// How it is passed to `apus mount`.
    enum Meaning: Hashable {
        case word(String)
        /// It concerns mount(8), systemd or the kernel, or always holds.
        case nothing
        case unknown(why: String)
    }

    private let name: String
    /// nil for an option without `=`.
    private let value: String?

    private static let flags: Set = [
        "allow-other", "contain-symlinks", "no-contain-symlinks", "no-exec", "read-only",
    ]
    private static let withValues: Set = [
        "bandwidth", "ca-file", "cache-size", "gid", "keep-free", "log-format", "log-level",
        "memory", "offline", "refresh", "state-dir",
        "uid", "umask",
    ]
    private static let synonyms = ["ro": "read-only", "noexec": "no-exec"]

    /// Those of mount(8) and fstab(5), and of libfuse. Set-user-id programs and device files are always
    /// inert in a mount, the kernel always checks modes, and times of access are not kept.
    private static let ignored: Set = [
        "_netdev", "async", "atime", "auto", "comment", "default-permissions", "defaults", "dev",
        "diratime", "exec", "group", "lazytime", "noatime", "noauto", "nodev", "nodiratime",
        "nofail", "nogroup", "nolazytime", "noowner", "norelatime", "nostrictatime", "nosuid",
        "nouser", "nousers", "owner", "relatime", "rw", "strictatime", "suid", "user", "users",
    ]

    /// - Parameter text: `NAME` or `NAME=VALUE`, where the value may stand between double quotes.
    init(parsing text: Substring) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        // FUSE's own options have underscores; that of `_netdev` is part of its name.
        name = String(parts[0].prefix(1) + parts[0].dropFirst().replacing("_", with: "-"))
        value = parts.count < 2 ? nil : String(parts[1].replacing("\"", with: ""))
    }

    var meaning: Meaning {
        let name = Self.synonyms[name] ?? name
        switch value {
        case nil where Self.flags.contains(name): return .word("--\(name)")
        case let value? where Self.withValues.contains(name): return .word("--\(name)=\(value)")
        case _ where Self.ignored.contains(name) || isComment: return .nothing
        case nil where Self.withValues.contains(name):
            return .unknown(why: "the option \(name) needs a value, as in \(name)=…")
        case _? where Self.flags.contains(name):
            return .unknown(why: "the option \(name) takes no value")
        default: return .unknown(why: "the option \(name) is unknown")
        }
    }

    private var isComment: Bool { name.hasPrefix("x-") || name.hasPrefix("X-") }
}
