import Foundation
import Logging
import Testing

@testable import apus

@Suite struct `The log of a daemon` {
    private let time = Date(timeIntervalSince1970: 1_800_000_000.25)

    private func entry(_ message: Logger.Message, _ metadata: Logger.Metadata = [:]) -> LogEntry {
        let event = LogEvent(
            level: .warning, message: message, error: nil, metadata: metadata, source: "",
            file: "", function: "", line: 0)
        return LogEntry(event, module: "engine", common: [:], at: time)
    }

    @Test func `is text of sentences with their values`() {
        let entry = entry("eviction failed", ["reason": "no \"room\"\nhere", "count": "3"])
        #expect(
            LogFormat.text.line(entry) { $0 }
                == #"2027-01-15T08:00:00.250Z warning engine: Eviction failed count=3 "#
                + #"reason="no \"room\" here""#)
    }

    @Test func `is an object of JSON in each line`() throws {
        let line = LogFormat.json.line(entry("eviction failed", ["reason": "a\nb"])) { $0 }
        #expect(!line.contains("\n"))
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(object?["time"] as? String == "2027-01-15T08:00:00.250Z")
        #expect(object?["level"] as? String == "warning")
        #expect(object?["module"] as? String == "engine")
        #expect(object?["message"] as? String == "Eviction failed")
        #expect(object?["values"] as? [String: String] == ["reason": "a\nb"])
    }

    @Test func `names items by their paths`() {
        let entry = entry("file not stored", ["inode": "17", "reason": "open inode 17: denied"])
        #expect(entry.namesInodes)
        let line = LogFormat.text.line(entry) { $0.replacing("inode 17", with: "\"a/b\"") }
        #expect(
            line.hasSuffix(
                #"File not stored item="\"a/b\"" reason="open \"a/b\": denied""#), "\(line)")
        #expect(!self.entry("mounted", ["path": "/a"]).namesInodes)
    }

    @Test(arguments: [
        ("debug", Logger.Level.debug, Logger.Level.debug, "debug"),
        ("transport=debug", .info, .debug, "info,transport=debug"),
        (
            "warning,transport=trace,engine=error", .error, .trace,
            "warning,engine=error,transport=trace"
        ),
    ])
    func `has levels by module`(
        text: String, engine: Logger.Level, transport: Logger.Level, exact: String
    ) throws {
        let levels = try LogLevels(parsing: text)
        #expect(levels.level(of: "engine") == engine)
        #expect(levels.level(of: "transport") == transport)
        #expect(levels.text == exact)
        #expect(try LogLevels(parsing: exact) == levels)
    }

    @Test(arguments: ["", "loud", "transport=", "transport=loud", "curl=debug", "debug,"])
    func `refuses other levels and modules, and lists those that there are`(text: String) {
        let error = #expect(throws: LogLevelsError.self) { try LogLevels(parsing: text) }
        #expect(error?.description.contains("write one of ") == true)
    }
}
