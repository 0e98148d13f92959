import Control
import Foundation
import Logging

/// The form of the lines in a daemon's log.
enum LogFormat: String, CaseIterable, Sendable {
    case text, json

    /// - Parameter naming: Replaces the numbers of inodes in a text by paths.
    func line(_ entry: LogEntry, naming: (String) -> String) -> String {
        let message = naming(entry.message)
        let values = entry.values.map { ($0.name, naming($0.value)) }
        switch self {
        case .text:
            let pairs = values.map { " \($0)=\(Self.quoted($1))" }.joined()
            return "\(entry.time) \(entry.level) \(entry.module): "
                + Self.sentence(message).singleLine + pairs
        case .json:
            let line = JSONLine(
                time: entry.time, level: "\(entry.level)", module: entry.module,
                message: Self.sentence(message), values: Dictionary(values) { first, _ in first })
            let json = try? ControlJSON.encode(line, pretty: false)
            return json.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    private struct JSONLine: Encodable {
        let time: String
        let level: String
        let module: String
        let message: String
        let values: [String: String]
    }

    private static func sentence(_ message: String) -> String {
        message.prefix(1).uppercased() + message.dropFirst()
    }

    private static func quoted(_ value: String) -> String {
        let isPlain = !value.isEmpty && !value.contains { " \"=\\".contains($0) || $0.isNewline }
        if isPlain { return value.singleLine }
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"\(escaped.replacing("\n", with: " ").singleLine)\""
    }
}

/// One entry of the log.
struct LogEntry: Sendable {
    /// In UTC, with milliseconds.
    let time: String
    let level: Logger.Level
    let module: String
    let message: String
    let values: [(name: String, value: String)]

    init(_ event: LogEvent, module: String, common: Logger.Metadata, at time: Date) {
        self.time =
            time.formatted(
                .iso8601.year().month().day().time(includingFractionalSeconds: true)) + "Z"
        level = event.level
        self.module = module
        message = "\(event.message)"
        let metadata = common.merging(event.metadata ?? [:]) { _, new in new }
        values = metadata.sorted { $0.key < $1.key }
            .map { name, value in
                // Named as in the texts of errors, so that its path is found too.
                name == "inode" ? ("item", "inode \(value)") : (name, "\(value)")
            }
    }

    /// Whether it names an inode by its number.
    var namesInodes: Bool {
        message.contains("inode ") || values.contains { $0.value.contains("inode ") }
    }
}
