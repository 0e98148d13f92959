import Logging

/// Synchronises pending inodes with the remote: plans, carries out, and backs off after failures.
struct Synchroniser: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let agenda: Agenda
    let content: ContentStore
    let gate: RemoteGate
    let deletions: DeletionHold
    let merger: Merger
    let uploader: Uploader
    let conflicts: ConflictResolver
}

extension Synchroniser {
    /// Synchronises pending inodes until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            var alarm: Duration?
            while !Task.isCancelled {
                let notifications = agenda.signal.notifications
                switch agenda.next() {
                case .start(let inode):
                    group.addTask { await self.runOne(inode) }
                case .wait(let until):
                    if let until, alarm.map({ until < $0 || $0 <= clock.uptime }) ?? true {
                        alarm = until
                        group.addTask {
                            try? await self.clock.sleep(until: until)
                            agenda.signal.notify()
                        }
                    }
                    await agenda.signal.wait(after: notifications)
                }
            }
            group.cancelAll()
        }
    }

    private func runOne(_ inode: InodeNumber) async {
        let outcome: Agenda.Outcome
        do {
            outcome = try await synchronise(inode)
        } catch {
            outcome = noteSyncFailure(error, of: inode)
        }
        agenda.finish(inode, outcome)
    }
}
