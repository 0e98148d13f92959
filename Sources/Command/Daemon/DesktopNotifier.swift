import Control
import Engine
import Foundation
import Host
import Logging
import SystemCalls

/// Tells a person of conflicts and failed changes by notifications of the desktop.
///
/// They are sent by `notify-send` of libnotify. A daemon without a session bus, such as one that the
/// system starts, sends none. Source: Desktop Notifications Specification.
struct DesktopNotifier: Sendable {
    private let sender: String
    private let clock: any Clock
    private let logger: Logger

    /// The number of items that are looked at.
    static let itemsMax = 100
    /// The time between two looks at the items, at least.
    static let pause: Duration = .seconds(1)
    static let sendLimit: Duration = .seconds(10)

    /// - Returns: nil without a session bus or `notify-send`.
    init?(
        _ environment: [String: String] = ProcessInfo.processInfo.environment,
        clock: any Clock = SystemClock(), logger: Logger
    ) {
        let bus = environment["XDG_RUNTIME_DIR"].map { "\($0)/bus" }
        let hasBus =
            environment["DBUS_SESSION_BUS_ADDRESS"] != nil
            || bus.map(FileManager.default.fileExists(atPath:)) ?? false
        let sender = ProgramPath.find("notify-send", in: environment["PATH"] ?? "")
        guard hasBus, let sender else { return nil }
        (self.sender, self.clock, self.logger) = (sender, clock, logger)
    }

    /// Sends notifications until it is cancelled.
    func run(_ source: some AttentionSource) async {
        var bursts = AttentionBursts()
        while !Task.isCancelled {
            let count = source.changeCount
            if let items = try? await source.attentionItems(max: Self.itemsMax) {
                bursts.note(items, at: clock.uptime)
            }
            let items = bursts.take(at: clock.uptime)
            if !items.isEmpty {
                await send(DesktopNotification(of: items, in: source.mountPoint))
            }
            try? await clock.sleep(until: clock.uptime + Self.pause)
            let wait = bursts.due.map { max(.zero, $0 - clock.uptime) }
            await source.waitForChange(after: count, within: wait)
        }
    }

    private func send(_ notification: DesktopNotification) async {
        let program = Process()
        program.executableURL = URL(filePath: sender)
        program.arguments = [
            "--app-name=Apus", "--icon=dialog-warning", "--category=transfer.error", "--",
            notification.summary, notification.body.markupEscaped,
        ]
        program.standardOutput = FileHandle.nullDevice
        program.standardError = FileHandle.nullDevice
        let (ends, end) = AsyncStream<Void>.makeStream()
        program.terminationHandler = { _ in end.finish() }
        do {
            try program.run()
        } catch {
            return logger.info("no desktop notification", metadata: ["reason": "\(error)"])
        }
        await withTaskGroup { group in
            group.addTask { for await _ in ends {} }
            group.addTask { try? await clock.sleep(until: clock.uptime + Self.sendLimit) }
            await group.next()
            group.cancelAll()
        }
        if program.isRunning { program.terminate() }
    }
}

/// A mount with items that wait for a person.
protocol AttentionSource: Sendable {
    var mountPoint: String { get }
    /// Grows when the items may have changed.
    var changeCount: UInt64 { get }

    /// Returns conflicts, and changes that are not tried again by themselves.
    ///
    /// - Parameter max: The number of pending changes, and of conflicts, that are looked at.
    func attentionItems(max: Int) async throws -> [AttentionItem]

    /// Returns once ``changeCount`` exceeds `count`, the task is cancelled, or `limit` has passed.
    func waitForChange(after count: UInt64, within limit: Duration?) async
}

extension MountedEngine: AttentionSource {
    var mountPoint: String { options.mountPoint }

    var changeCount: UInt64 { engine.changeCount }

    func attentionItems(max: Int) async throws -> [AttentionItem] {
        try await onEngine { () async throws(EngineError) in
            let status = try engine.status(below: .root, limit: max)
            let failures = status.items.compactMap { item -> AttentionItem? in
                guard let failure = item.failure, failure.isFinal, !failure.isHeldDeletion else {
                    return nil
                }
                return AttentionItem(path: item.path, kind: .failure(reason: failure.why))
            }
            return failures
                + status.conflicts.map {
                    AttentionItem(path: $0.counterpart ?? $0.path, kind: .conflict)
                }
        }
    }

    func waitForChange(after count: UInt64, within limit: Duration?) async {
        await engine.waitForChange(after: count, within: limit)
    }
}

extension String {
    /// The text in the markup of notifications, which is a part of HTML.
    fileprivate var markupEscaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
