import Foundation
import Logging
import Synchronization
import Testing

@testable import apus

@Suite struct `The log of a daemon` {
    private let null = FileHandle(forWritingAtPath: "/dev/null")
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

    /// Goal: a daemon that has written many entries names the next one as fast as the first, and on
    /// as little stack.
    @Test func `has a depth of calls that does not grow with it`() throws {
        let output = DaemonLogOutput(.text, to: try #require(null).fileDescriptor)
        let depths = Mutex<[Int]>([])
        output.name { text in
            if text.contains("inode") {
                depths.withLock { $0.append(Thread.callStackReturnAddresses.count) }
            }
            return text
        }
        for _ in 0..<100 { output.write(entry("inode 17 not stored")) }
        output.drain()
        let (first, last) = depths.withLock { ($0.first ?? 0, $0.last ?? .max) }
        #expect(depths.withLock(\.count) == 100)
        #expect(first > 0 && last <= first + 4, "\(first), \(last)")
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
