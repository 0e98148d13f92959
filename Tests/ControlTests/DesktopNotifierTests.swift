import Control
import Engine
import Foundation
import Logging
import Synchronization
import Testing

@testable import apus

/// Goal: the bounds of docs/decisions/040-desktop-notifications.md.
@Suite("The sender of desktop notifications", .timeLimit(.minutes(2)))
struct DesktopNotifierTests {
    private static let bus = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/none"]

    @Test func `looks at 100 items, once in a second, however often they change`() async throws {
        let program = try NotifySend("exit 0")
        let clock = ImmediateClock { duration in
            // The program ends in time.
            if duration == .seconds(10) { try await Task.sleep(for: .seconds(600)) }
        }
        let mount = ChangingMount(clock, looksMax: 30)
        try await program.run(mount, clock)
        #expect(mount.looks.map(\.max) == Array(repeating: 100, count: 30))
        #expect(mount.looks.map(\.time) == (0..<30).map { .seconds($0) })
    }

    /// Method: the clock waits for the start of the program before it passes over the ten seconds.
    @Test func `ends a program that hangs after ten seconds, and goes on`() async throws {
        let program = try NotifySend(
            #"echo $$ > "$0.new"; mv "$0.new" "$0.process"; exec sleep 600"#)
        let clock = ImmediateClock { duration in
            guard duration == .seconds(10) else { return }
            while program.process == nil { try await Task.sleep(for: .milliseconds(5)) }
        }
        let mount = ChangingMount(clock, looksMax: 8)
        try await program.run(mount, clock)
        // An item of the second look is told of five seconds later.
        #expect(mount.looks.map(\.time) == [0, 1, 2, 3, 4, 5, 6, 17].map { .seconds($0) })
        let process = try #require(program.process)
        while kill(process, 0) == 0 { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func `is left out without a session bus or the program`() throws {
        let program = try NotifySend("exit 0")
        let logger = Logger(label: "test")
        #expect(DesktopNotifier(["PATH": program.directory], logger: logger) == nil)
        #expect(DesktopNotifier(Self.bus.merging(["PATH": "/none"]) { $1 }, logger: logger) == nil)
    }

    /// A stand-in for `notify-send`, alone in a directory.
    private final class NotifySend: Sendable {
        let directory = NSTemporaryDirectory() + "/apus-test-\(UUID().uuidString)"

        init(_ script: String) throws {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true)
            let path = "\(directory)/notify-send"
            try Data("#!/bin/sh\n\(script)\n".utf8).write(to: URL(filePath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        /// The process that the script has written down.
        var process: pid_t? {
            let text = try? String(
                contentsOfFile: "\(directory)/notify-send.process", encoding: .utf8)
            return text.flatMap { pid_t($0.filter(\.isNumber)) }
        }

        /// Runs the notifier until the mount cancels its task.
        func run(_ mount: ChangingMount, _ clock: any Clock) async throws {
            let environment = DesktopNotifierTests.bus.merging(["PATH": directory]) { $1 }
            let notifier = DesktopNotifier(
                environment, clock: clock, logger: Logger(label: "test"))
            let found = try #require(notifier)
            await Task { await found.run(mount) }.value
        }
    }
}

/// A clock on which each sleep sets the time and returns.
private final class ImmediateClock: Clock {
    private let now = Mutex(Duration.zero)
    private let before: @Sendable (Duration) async throws -> Void

    /// - Parameter before: Is awaited before each sleep of that duration ends.
    init(before: @escaping @Sendable (Duration) async throws -> Void = { _ in }) {
        self.before = before
    }

    var wallTime: Timestamp { Timestamp(seconds: uptime.components.seconds) }

    var uptime: Duration { now.withLock { $0 } }

    func sleep(until instant: Duration) async throws {
        try await before(instant - uptime)
        try Task.checkCancellation()
        now.withLock { $0 = max($0, instant) }
    }
}

/// A mount that changes all the time, and has a conflict from the second look on.
private final class ChangingMount: AttentionSource {
    private let clock: any Clock
    private let looksMax: Int
    private let seen = Mutex<[(max: Int, time: Duration)]>([])

    /// - Parameter looksMax: The number of looks after which the task that looks is cancelled.
    init(_ clock: any Clock, looksMax: Int) {
        (self.clock, self.looksMax) = (clock, looksMax)
    }

    var looks: [(max: Int, time: Duration)] { seen.withLock { $0 } }

    var mountPoint: String { "/home/ann/Cloud" }

    var changeCount: UInt64 { UInt64(looks.count) }

    func attentionItems(max: Int) async throws -> [AttentionItem] {
        let count = seen.withLock { seen in
            seen.append((max, clock.uptime))
            return seen.count
        }
        if count == looksMax { withUnsafeCurrentTask { $0?.cancel() } }
        return count == 1 ? [] : [AttentionItem(path: "a", kind: .conflict)]
    }

    func waitForChange(after count: UInt64, within limit: Duration?) async {}
}
