import Foundation
import Logging
import SystemCalls

/// The log of a daemon.
enum DaemonLog {
    private static let bytesMax = 10 * 1024 * 1024

    static func path(in stateDirectory: String) -> String { stateDirectory + "/log" }

    /// Writes the log messages of this process to standard error.
    ///
    /// - Parameter levels: nil for those of the environment: `APUS_LOG`, in the same form.
    static func bootstrap(_ format: LogFormat, _ levels: LogLevels?) -> DaemonLogOutput {
        let output = DaemonLogOutput(format)
        let usual = ProcessInfo.processInfo.environment["APUS_LOG"]
            .flatMap { try? LogLevels(parsing: $0) }
        let levels = levels ?? usual ?? .standard
        LoggingSystem.bootstrap { label in
            DaemonLogHandler(label, output, level: levels.level(of: label))
        }
        return output
    }

    /// Limits the length of the log now and every minute until cancelled: a mount may last for years.
    static func keepShort(in stateDirectory: String) -> Task<Void, Never> {
        rotate(in: stateDirectory)
        return Task {
            while (try? await Task.sleep(for: .seconds(60))) != nil { rotate(in: stateDirectory) }
        }
    }

    /// Renames a log of over 10 MiB to `log.1` and redirects standard output and error to a new one.
    /// Only for the daemon that holds the state directory, to which the log belongs.
    private static func rotate(in stateDirectory: String) {
        let path = path(in: stateDirectory)
        guard let status = FileStatus(at: path), status.size > bytesMax,
            rename(path, path + ".1") == 0
        else { return }
        let fresh = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard fresh >= 0 else { return }
        dup2(fresh, STDOUT_FILENO)
        dup2(fresh, STDERR_FILENO)
        close(fresh)
    }
}
