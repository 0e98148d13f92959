import CFuse
import Glibc
import Logging
import Synchronization

/// Forwards libfuse's messages to our log, or captures them for the error while mounting.
///
/// libfuse has one log function per process, so this is a singleton.
final class LibfuseLog: Sendable {
    static let shared = LibfuseLog()

    private struct State {
        var logger: Logger?
        var captured: [String]?
    }

    private let state = Mutex(State())

    private init() {
        fuse_set_log_func { level, format, values in
            guard let format, let values else { return }
            var text = [CChar](repeating: 0, count: 1024)
            vsnprintf(&text, text.count, format, values)
            LibfuseLog.shared.receive(level, [UInt8](cString: text))
        }
    }

    /// Sets the destination of all further messages.
    func use(_ logger: Logger) {
        state.withLock { $0.logger = logger }
    }

    /// Runs `body`, and returns libfuse's messages during the call instead of logging them.
    func capturing<Value>(_ body: () -> Value) -> (value: Value, lines: [String]) {
        state.withLock { $0.captured = [] }
        let value = body()
        let lines = state.withLock { state in
            defer { state.captured = nil }
            return state.captured ?? []
        }
        return (value, lines)
    }

    private func receive(_ level: fuse_log_level, _ text: [UInt8]) {
        let line = String(decoding: text, as: UTF8.self)
            .split(whereSeparator: \.isNewline).joined(separator: " ")
        let logger = state.withLock { state -> Logger? in
            guard state.captured != nil else { return state.logger }
            state.captured?.append(line)
            return nil
        }
        let isError = level.rawValue <= FUSE_LOG_ERR.rawValue
        logger?.log(
            level: isError ? .warning : .debug, "libfuse message", metadata: ["line": "\(line)"])
    }
}
