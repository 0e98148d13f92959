import Control
import Foundation
import Host
import Synchronization
import UnixSignals

/// Watches mounts until all of them have ended, or the user interrupts it.
final class StatusWatch: Sendable {
    private let targets: [Daemons.Target]
    private let limit: Int?
    private let mounts: Mutex<[WatchFrame.Mount]>
    private let failures = Mutex<[ControlError]>([])
    private let clock = SystemClock()

    /// Between two frames on a terminal, and between lines elsewhere.
    private static let frameInterval: Duration = .milliseconds(250)
    private static let lineInterval: Duration = .seconds(1)

    init(_ targets: [Daemons.Target], limit: Int?) {
        self.targets = targets
        self.limit = limit
        mounts = Mutex(targets.map { WatchFrame.Mount($0.mountPoint) })
    }

    /// Shows all mounts, on a terminal in place, else as lines.
    ///
    /// - Throws: If no mount could be watched.
    func show() async throws {
        let isLive = WatchFrame.Style(ofTerminal: STDOUT_FILENO) != nil
        try await run(output: { isLive ? await self.draw() : await self.printLines() })
    }

    /// Prints each report as a line of JSON.
    ///
    /// - Throws: As ``show()``.
    func printJSON() async throws {
        try await run(onReport: { try? Console.printJSON($0, pretty: false) })
    }

    private func run(
        onReport: @escaping @Sendable (StatusReport) -> Void = { _ in },
        output: (@Sendable () async -> Void)? = nil
    ) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        await withTaskGroup { group in
            group.addTask {
                for await _ in signals { return }
            }
            group.addTask { await self.watchAll(onReport) }
            let showing = output.map { output in Task { await output() } }
            // Either the user or the last mount ends it.
            await group.next()
            group.cancelAll()
            showing?.cancel()
            await showing?.value
        }
        let failures = failures.withLock { $0 }
        if failures.count == targets.count, let first = failures.first { throw first }
    }

    private func watchAll(_ onReport: @escaping @Sendable (StatusReport) -> Void) async {
        await withDiscardingTaskGroup { group in
            for (index, target) in targets.enumerated() {
                group.addTask { await self.watch(target, at: index, onReport) }
            }
        }
    }

    private func watch(
        _ target: Daemons.Target, at index: Int, _ onReport: (StatusReport) -> Void
    ) async {
        do throws(ControlError) {
            try await target.client.watchStatus(below: target.paths, limit: limit) { report in
                onReport(report)
                let now = clock.uptime
                mounts.withLock { mounts in
                    mounts[index].report = report
                    mounts[index].traffic.note(report, at: now)
                }
            }
            mounts.withLock { $0[index].failure = "unmounted" }
        } catch {
            guard !Task.isCancelled else { return }
            let wasSeen = mounts.withLock { mounts in
                let wasSeen = mounts[index].report != nil
                mounts[index].failure = wasSeen ? "unmounted" : error.problem.why
                return wasSeen
            }
            if !wasSeen { failures.withLock { $0.append(error) } }
        }
    }

    // MARK: Output

    private func draw() async {
        var screen = Screen { Console.write($0) }
        defer { screen.end() }
        var isLast = false
        while true {
            // Again each time, as the window may have another size.
            if let style = WatchFrame.Style(ofTerminal: STDOUT_FILENO) {
                let frame = WatchFrame(
                    mounts.withLock { $0 }, style, now: Date(), uptime: clock.uptime)
                screen.show(frame.lines, columns: style.columns)
            }
            if isLast { return }
            isLast = (try? await Task.sleep(for: Self.frameInterval)) == nil
        }
    }

    private func printLines() async {
        var shown: [String] = []
        while true {
            let mounts = mounts.withLock { $0 }
            if mounts.allSatisfy({ $0.report != nil || $0.failure != nil }) {
                let lines = WatchFrame.plainLines(mounts, now: Date(), uptime: clock.uptime)
                for line in lines where !shown.contains(line) { Console.printLine(line) }
                shown = lines
            }
            let pause: Duration = shown.isEmpty ? .milliseconds(50) : Self.lineInterval
            guard (try? await Task.sleep(for: pause)) != nil else { return }
        }
    }
}
