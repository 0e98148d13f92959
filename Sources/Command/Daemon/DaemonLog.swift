import Foundation
import Logging

/// Where a daemon's messages go.
enum DaemonLog {
    private static let bytesMax = 10 * 1024 * 1024

    static func path(in stateDirectory: String) -> String { stateDirectory + "/log" }

    /// Sends what this process logs to standard error, with time stamps.
    ///
    /// `APUS_LOG` names the least level that is shown: `trace`, `debug`, `info` (without it),
    /// `notice`, `warning`, `error`, `critical`.
    static func bootstrap() {
        let level = ProcessInfo.processInfo.environment["APUS_LOG"]
            .flatMap { Logger.Level(rawValue: $0) }
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level ?? .info
            return handler
        }
    }

    /// Looks at the log's length now, and every minute until it is cancelled: a mount may last for
    /// years, and have much to say.
    static func keepShort(in stateDirectory: String) -> Task<Void, Never> {
        rotate(in: stateDirectory)
        return Task {
            while (try? await Task.sleep(for: .seconds(60))) != nil { rotate(in: stateDirectory) }
        }
    }

    /// Puts a log of over 10 MiB aside as `log.1` and lets standard output and error go on in a
    /// new one. Only by the daemon that holds the state directory: the log is nobody else's.
    private static func rotate(in stateDirectory: String) {
        let path = path(in: stateDirectory)
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > bytesMax,
            rename(path, path + ".1") == 0
        else { return }
        let fresh = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard fresh >= 0 else { return }
        dup2(fresh, STDOUT_FILENO)
        dup2(fresh, STDERR_FILENO)
        close(fresh)
    }
}
