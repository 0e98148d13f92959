import Control
import Engine
import Logging

// The mount as a service.

extension MountedEngine {
    /// How often the service manager hears of a change at most.
    private static var statusInterval: Duration { .seconds(2) }
    /// How often it hears that uploads go on at the end.
    private static var endingInterval: Duration { .seconds(5) }

    /// Shows the number of pending changes to the service manager until cancelled.
    func reportStatus(to manager: ServiceManager) async {
        var last = ""
        for await _ in statusChanges() {
            let text = "Mounted on \(options.mountPoint); \(await pendingText)"
            if text != last { manager.status(text) }
            last = text
            try? await Task.sleep(for: Self.statusInterval)
        }
    }

    private var pendingText: String {
        get async {
            do throws(ControlError) {
                let pending = try await onEngine { () async throws(EngineError) in
                    try engine.status(below: .root, limit: 0).pending
                }
                guard pending.remaining > 0 else {
                    return SyncProgress.nothingPending(
                        held: pending.held, open: pending.openAndSent)
                }
                return counted(pending.remaining, "change", "changes")
                    + " (\(HumanSize.format(pending.bytes))) not yet on the remote"
            } catch {
                return "the pending changes are not known"
            }
        }
    }

    /// Uploads as long as that makes progress and `limit` is not over, and unmounts then in any case. Changes
    /// that are left stay queued for the next mount.
    func unmount(uploadingFor limit: Duration, _ manager: ServiceManager) async {
        logger.info("uploading before the end", metadata: ["limit": "\(limit)"])
        await withTaskGroup { group in
            group.addTask { await self.extendTimeout(manager) }
            do {
                for try await progress in unmount(now: false, timeout: limit) {
                    manager.stopping(progress.line)
                }
            } catch {
                let problem = (error as? ControlError)?.problem.description ?? "\(error)"
                logger.info("not all is uploaded", metadata: ["reason": "\(problem)"])
            }
            group.cancelAll()
        }
        manager.stopping("Unmounting")
        await unmountNow()
    }

    private func extendTimeout(_ manager: ServiceManager) async {
        repeat {
            manager.stopping("Uploading; \(await pendingText)")
        } while (try? await Task.sleep(for: Self.endingInterval)) != nil
    }
}
