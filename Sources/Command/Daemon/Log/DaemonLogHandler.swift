import Dispatch
import Foundation
import Logging
import Synchronization
import SystemCalls

/// Writes the log entries of one module.
struct DaemonLogHandler: LogHandler {
    let module: String
    let output: DaemonLogOutput
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(_ module: String, _ output: DaemonLogOutput, level: Logger.Level) {
        self.module = module
        self.output = output
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        output.write(LogEntry(event, module: module, common: metadata, at: Date()))
    }
}

/// The end of all log entries of this process: standard error, but in tests.
final class DaemonLogOutput: Sendable {
    /// A closure that is kept in a `Mutex` by itself gets a wrapper more at each access.
    private struct Naming: Sendable {
        let text: @Sendable (String) -> String
    }

    private let format: LogFormat
    private let descriptor: CInt
    private let naming = Mutex<Naming?>(nil)
    /// Writes entries that name inodes: their paths are read from the state, which must not be done on a
    /// thread that may be reading it.
    private let queue = DispatchQueue(label: "apus-log", qos: .utility)

    init(_ format: LogFormat, to descriptor: CInt = STDERR_FILENO) {
        self.format = format
        self.descriptor = descriptor
    }

    /// Has the numbers of inodes replaced by paths from now on.
    func name(by naming: @escaping @Sendable (String) -> String) {
        self.naming.withLock { $0 = Naming(text: naming) }
    }

    /// Returns once all entries so far are written; numbers of inodes in later ones stay.
    func drain() {
        naming.withLock { $0 = nil }
        queue.sync {}
    }

    func write(_ entry: LogEntry) {
        // Traces are for those who know the numbers, and each request has one.
        guard entry.level != .trace, entry.namesInodes, let naming = naming.withLock({ $0 }) else {
            return write(entry) { $0 }
        }
        queue.async { self.write(entry, naming.text) }
    }

    private func write(_ entry: LogEntry, _ naming: (String) -> String) {
        let line = format.line(entry, naming: naming) + "\n"
        // A failure cannot be reported.
        try? PosixIO.write(descriptor, Array(line.utf8))
    }
}
