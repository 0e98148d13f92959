import Engine

/// Reports of changes in the directories of a simulated store: late, repeated, or lost, which it says.
struct SimulatedFeed {
    private struct Event {
        let due: Duration
        /// nil for a loss.
        let directory: ObjectKey?
    }

    let settings: SimulatedFeedSettings
    private let names: NameMatching
    private var journal = ChangeJournal(nonce: "simulation")
    private var events: [Event] = []
    /// By the keys that the store takes for one.
    private var followed: [ObjectKey: ObjectKey] = [:]

    init(_ settings: SimulatedFeedSettings, names: NameMatching) {
        self.settings = settings
        self.names = names
    }

    mutating func follow(_ key: ObjectKey) { followed[names.key(of: key)] = key }

    mutating func unfollow(_ key: ObjectKey, at now: Duration) {
        guard let key = followed.removeValue(forKey: names.key(of: key)) else { return }
        events.append(Event(due: now, directory: key))
    }

    /// Records changes of the tree.
    mutating func note(
        _ changes: [SimulatedProviderTree.Change], at now: Duration, _ random: inout SeededGenerator
    ) {
        for change in changes {
            switch change {
            case .entries(let key):
                if let key = followed[names.key(of: key)] { note(key, at: now, &random) }
            case .place(let key):
                let place = names.key(of: key)
                let ended = followed.filter { $0.key.names.starts(with: place.names) }
                // In an order of their own, so that a run can be replayed.
                for key in ended.values.sorted(by: { "\($0)" < "\($1)" }) {
                    followed[names.key(of: key)] = nil
                    note(key, at: now, &random)
                }
            }
        }
    }

    private mutating func note(
        _ key: ObjectKey, at now: Duration, _ random: inout SeededGenerator
    ) {
        let due = now + random.duration(in: settings.delay)
        let isLost = random.happens(settings.losses)
        events.append(Event(due: due, directory: isLost ? nil : key))
        guard random.happens(settings.repeats) else { return }
        events.append(Event(due: due + random.duration(in: settings.delay), directory: key))
    }

    /// Returns a report, or when there may be one; nil if that depends on changes.
    mutating func report(
        since anchor: ChangeAnchor?, at now: Duration
    ) -> (report: ChangeReport?, next: Duration?) {
        for event in events where event.due <= now {
            if let key = event.directory { journal.note(key) } else { journal.noteMissed() }
        }
        events.removeAll { $0.due <= now }
        return (journal.report(since: anchor), events.map(\.due).min())
    }
}
