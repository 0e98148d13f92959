import Logging
import Synchronization

/// Has directories listed as soon as the remote reports changes in them, if it does so.
struct ChangeFollower: Sendable {
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let gate: RemoteGate
    let schedule: DirectoriesInUse

    /// Waits for reports until it is cancelled, or the remote turns out to have none.
    ///
    /// After a failure directories are listed at intervals until the next report, which begins where
    /// the last one ended.
    func run() async {
        var anchor: ChangeAnchor?
        var backoff = Self.backoff
        while !Task.isCancelled {
            do throws(ProviderError) {
                let report = try await gate.changes(since: anchor)
                anchor = report.anchor
                backoff = Self.backoff
                note(report)
            } catch {
                setReporting(false)
                if error.kind == .unsupported { return }
                logger.debug("no changes reported", metadata: ["reason": "\(error)"])
                try? await clock.sleep(until: clock.uptime + backoff.next(random))
                await gate.awaitService()
            }
        }
    }

    private static var backoff: Backoff { Backoff(first: .seconds(1), longest: .seconds(60)) }

    private func note(_ report: ChangeReport) {
        setReporting(true)
        let now = clock.uptime
        let isDue = schedule.uses.withLock { uses in
            report.mayHaveMissed
                ? uses.noteMissed(at: now) : uses.noteReports(of: report.directories, at: now)
        }
        if report.mayHaveMissed {
            logger.debug("changes on the remote may have been missed")
        }
        if isDue { schedule.signal.notify() }
    }

    private func setReporting(_ isReporting: Bool) {
        let now = clock.uptime
        let isDue = schedule.uses.withLock { $0.setReporting(isReporting, at: now) }
        if isDue { schedule.signal.notify() }
    }
}
