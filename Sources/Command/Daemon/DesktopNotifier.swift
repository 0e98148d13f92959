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
    private let logger: Logger

    /// The number of items that are looked at.
    private static let itemsMax = 100
    /// The time between two looks at the items, at least.
    private static let pause: Duration = .seconds(1)
    private static let sendLimit: Duration = .seconds(10)

    /// - Returns: nil without a session bus or `notify-send`.
    init?(
        _ environment: [String: String] = ProcessInfo.processInfo.environment, logger: Logger
    ) {
        let bus = environment["XDG_RUNTIME_DIR"].map { "\($0)/bus" }
        let hasBus =
            environment["DBUS_SESSION_BUS_ADDRESS"] != nil
            || bus.map(FileManager.default.fileExists(atPath:)) ?? false
        let sender = (environment["PATH"] ?? "").split(separator: ":").lazy
            .map { "\($0)/notify-send" }
            .first(where: FileManager.default.isExecutableFile(atPath:))
        guard hasBus, let sender else { return nil }
        (self.sender, self.logger) = (sender, logger)
    }

    /// Sends notifications until it is cancelled.
    func run(_ mount: MountedEngine) async {
        let clock = SystemClock()
        var bursts = AttentionBursts()
        while !Task.isCancelled {
            let count = mount.engine.changeCount
            if let items = try? await mount.attentionItems(max: Self.itemsMax) {
                bursts.note(items, at: clock.uptime)
            }
            let items = bursts.take(at: clock.uptime)
            if !items.isEmpty {
                await send(DesktopNotification(of: items, in: mount.options.mountPoint))
            }
            try? await Task.sleep(for: Self.pause)
            let wait = bursts.due.map { max(.zero, $0 - clock.uptime) }
            await mount.engine.waitForChange(after: count, within: wait)
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
            group.addTask { try? await Task.sleep(for: Self.sendLimit) }
            await group.next()
            group.cancelAll()
        }
        if program.isRunning { program.terminate() }
    }
}

extension MountedEngine {
    /// Returns conflicts, and changes that are not tried again by themselves.
    fileprivate func attentionItems(max: Int) async throws(ControlError) -> [AttentionItem] {
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
}

extension String {
    /// The text in the markup of notifications, which is a part of HTML.
    fileprivate var markupEscaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
