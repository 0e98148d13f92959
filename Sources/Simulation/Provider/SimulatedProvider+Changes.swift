package import Engine
import Synchronization

/// Reports of changes, if ``SimulatedProviderSettings/feed`` has any.
extension SimulatedProvider {
    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        guard settings.feed != nil else { return false }
        try await arrive("follow the changes in \"\(directory)\"")
        return try state.withLock { state throws(ProviderError) in
            guard try state.tree.node(directory).kind == .directory else {
                throw ProviderError(.wrongKind, "not a directory")
            }
            if state.random.happens(settings.feed?.refusals ?? 1) { return false }
            state.feed?.follow(directory)
            return true
        }
    }

    package func unfollow(_ directory: ObjectKey) {
        let now = clock.uptime
        state.withLock { $0.feed?.unfollow(directory, at: now) }
        changeSignal.notify()
    }

    /// The number of requests for reports so far.
    package var reportsAsked: Int { state.withLock(\.reportsAsked) }

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        guard settings.feed != nil else {
            throw ProviderError(.unsupported, "the store reports no changes")
        }
        state.withLock { $0.reportsAsked += 1 }
        try await arrive("wait for changes")
        while true {
            let notifications = changeSignal.notifications
            let now = clock.uptime
            let (report, next) = try state.withLock { state throws(ProviderError) in
                try Self.checkReachable(state)
                return state.feed?.report(since: anchor, at: now) ?? (nil, nil)
            }
            if let report { return report }
            if let next {
                await changeSignal.wait(after: notifications, until: next, on: clock)
            } else {
                await changeSignal.wait(after: notifications)
            }
            if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
        }
    }
}

extension SimulatedProvider.State {
    /// Passes changes of the tree on to the feed. The caller notifies
    /// ``SimulatedProvider/changeSignal`` afterwards.
    mutating func noteChanges(at now: Duration) {
        let changes = tree.takeChanges()
        if !changes.isEmpty { feed?.note(changes, at: now, &random) }
    }
}
