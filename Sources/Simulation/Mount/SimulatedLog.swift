package import Logging
import Synchronization

/// The last log lines of an engine, with their simulated times, for messages.
package final class SimulatedLog: Sendable {
    private let clock: SimulatedClock
    private let linesMax: Int
    private let kept = Mutex<[String]>([])

    package init(clock: SimulatedClock, linesMax: Int) {
        self.clock = clock
        self.linesMax = linesMax
    }

    /// Oldest first.
    package var lines: [String] { kept.withLock { $0.suffix(linesMax) } }

    package func note(_ line: @autoclosure () -> String) {
        guard linesMax > 0 else { return }
        let line = "\(clock.uptime) \(line())"
        kept.withLock { lines in
            lines.append(line)
            if lines.count > 2 * linesMax { lines.removeFirst(linesMax) }
        }
    }

    package var logger: Logger {
        guard linesMax > 0 else { return Logger(label: "engine") { _ in SwiftLogNoOpLogHandler() } }
        return Logger(label: "engine") { _ in Handler(log: self) }
    }

    private struct Handler: LogHandler {
        let log: SimulatedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let values = (event.metadata ?? [:]).sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }
            log.note("\(event.level): \(event.message) \(values.joined(separator: " "))")
        }
    }
}
