extension Engine {
    package var deletions: DeletionRequests { DeletionRequests(engine: self) }
}

/// Decisions of users about bulk deletions that are held.
package struct DeletionRequests: Sendable {
    fileprivate let engine: Engine

    private var hold: DeletionHold { engine.remote.deletions }

    /// The number of paths of files that stay held in a result.
    private static var pathsMax: Int { 20 }

    /// Releases the held deletions on both sides, in several transactions. If the process dies meanwhile, the
    /// next one continues with those of the remote.
    ///
    /// - Parameter report: Called with the progress after each transaction.
    package func confirm(
        report: (ConfirmedDeletions) -> Void = { _ in }
    ) async throws(EngineError) -> ConfirmedDeletions {
        try await hold.confirm(report: report)
    }

    /// Waits until the confirmed deletions of the remote are carried out here, or `limit` has passed, as while
    /// the remote cannot be reached.
    package func awaitConfirmed(within limit: Duration) async throws(EngineError) {
        let end = engine.clock.uptime + limit
        while engine.clock.uptime < end, !Task.isCancelled {
            let count = engine.changeCount
            let isAny = try completed { () throws(Blocked) in
                try engine.store.read { try $0.hasReleasedDeletions() }
            }
            if !isAny { return }
            await engine.waitForChange(after: count, within: end - engine.clock.uptime)
        }
    }

    /// Undoes the held deletions on both sides: what the remote has deleted is sent to it again, except
    /// files whose bytes are not all here, which stay held; what was deleted here appears again.
    ///
    /// If the process dies or the task is cancelled meanwhile, the rest of what the remote has deleted stays
    /// held; what was deleted here appears again in any case.
    ///
    /// - Parameter report: Called with the progress after each transaction, without what is left.
    package func reject(
        report: (RejectedDeletions) -> Void = { _ in }
    ) async throws(EngineError) -> RejectedDeletions {
        var rejected = RejectedDeletions()
        do throws(Blocked) {
            rejected.broughtBack = try await hold.rejectLocal { count in
                report(RejectedDeletions(broughtBack: count))
            }
        } catch {
            throw error.failure
        }
        var walk = RejectionWalk()
        var isMore = true
        while isMore {
            if Task.isCancelled { throw EngineError(.interrupted, "reject deletions") }
            (walk, isMore) = try completed { () throws(Blocked) in
                try engine.remote.merger.merge { merge in
                    var next = walk
                    let isMore = try merge.rejectDeletions(&next)
                    return (next, isMore)
                }
            }
            rejected.sentAgain = walk.sentCount
            report(rejected)
            await Task.yield()
        }
        try addLeft(to: &rejected)
        return rejected
    }

    private func addLeft(to rejected: inout RejectedDeletions) throws(EngineError) {
        let (items, paths) = try completed { () throws(Blocked) in
            try engine.store.read { database in
                let first = try database.heldInodes(
                    after: InodeNumber(rawValue: 0), limit: Self.pathsMax)
                return (
                    try database.heldDeletions(below: .root).items,
                    try first.map { ObjectKey(try database.path(of: $0)).description }
                )
            }
        }
        rejected.left = UInt64(items)
        rejected.leftPaths = paths
    }
}
