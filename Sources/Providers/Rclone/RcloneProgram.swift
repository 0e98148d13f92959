import ProviderSupport
import SystemCalls

/// The path of the program, and the environment it is started with.
struct RcloneProgram: Sendable {
    let path: String
    /// `NAME=VALUE`.
    let environment: [String]

    static let home = "https://rclone.org/install/"

    /// - Throws: `.unavailable` if there is no rclone.
    static func find(
        in environment: [String: String], named name: String = "rclone"
    ) throws(SourceError) -> RcloneProgram {
        let directories = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        guard let path = ProgramPath.find(name, in: directories) else {
            throw SourceError(
                .unavailable, "there is no rclone program on the PATH",
                remedy: "install rclone \(RcloneVersion.oldest) or later, see \(home)")
        }
        return RcloneProgram(path: path, environment: kept(of: environment))
    }

    /// Adds credentials and address, which override the user's and appear on no command line.
    func listening(at socketPath: String, user: String, password: String) -> RcloneProgram {
        let settings = [
            "RCLONE_RC_ADDR=unix://\(socketPath)", "RCLONE_RC_USER=\(user)",
            "RCLONE_RC_PASS=\(password)", "RCLONE_RC_SERVE=true", "RCLONE_LOG_LEVEL=NOTICE",
            // There is no terminal to answer a question.
            "RCLONE_ASK_PASSWORD=false", "RCLONE_AUTO_CONFIRM=true",
            // Otherwise rclone would close a remote that is idle during the mount.
            "RCLONE_FS_CACHE_EXPIRE_DURATION=24h",
        ]
        return RcloneProgram(path: path, environment: environment + settings)
    }

    /// Keeps the settings of remotes and the network in the user's environment. Settings of copies
    /// (`RCLONE_IGNORE_EXISTING`, filters, dry runs) are removed: with them files would be lost.
    private static func kept(of environment: [String: String]) -> [String] {
        environment.filter { name, _ in
            guard name.hasPrefix("RCLONE_") else { return true }
            let option = name.dropFirst("RCLONE_".count)
            return !changing.contains { option.hasPrefix($0) }
        }.map { "\($0.key)=\($0.value)" }.sorted()
    }

    private static let changing = [
        "RC_", "ASK_PASSWORD", "AUTO_CONFIRM", "BACKUP_DIR", "CHECKSUM", "CHECK_FIRST",
        "COMPARE_DEST", "COPY_DEST", "COPY_LINKS", "CUTOFF_MODE", "DELETE_", "DRY_RUN",
        "ERROR_ON_NO_TRANSFER", "EXCLUDE", "FILES_FROM", "FILTER", "FIX_CASE", "FS_CACHE", "HASH_",
        "IGNORE_", "IMMUTABLE", "INCLUDE", "INPLACE", "INTERACTIVE", "LINKS", "LOG_", "MAX_",
        "METADATA", "MIN_", "NO_CHECK_DEST", "NO_TRAVERSE", "NO_UPDATE", "NO_UNICODE",
        "PARTIAL_SUFFIX", "PROGRESS", "QUIET", "REFRESH_TIMES", "SIZE_ONLY", "SUFFIX", "SYSLOG",
        "TRACK_RENAMES", "UPDATE", "USE_JSON_LOG", "VERBOSE",
    ]
}

/// `1.75.2`, compared by its numbers.
struct RcloneVersion: Hashable, Comparable, CustomStringConvertible {
    let numbers: [Int]

    /// The first with all that Apus needs, above all partial files and a Unix socket.
    static let oldest = RcloneVersion(numbers: [1, 64, 0])

    static func < (left: Self, right: Self) -> Bool {
        left.numbers.lexicographicallyPrecedes(right.numbers)
    }

    var description: String { numbers.map(String.init).joined(separator: ".") }
}
