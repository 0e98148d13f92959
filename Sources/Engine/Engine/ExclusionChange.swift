import GRDB
import Logging

extension Engine {
    package var exclusionChange: ExclusionChange {
        ExclusionChange(
            exclusions: configuration.exclusions, store: store, clock: clock, logger: logger,
            agenda: local.agenda)
    }
}

/// Applies other patterns of `--exclude` than those of the last mount.
package struct ExclusionChange {
    fileprivate let exclusions: Exclusions
    fileprivate let store: Store
    fileprivate let clock: any Clock
    fileprivate let logger: Logger
    fileprivate let agenda: Agenda

    /// Compares the names with the patterns. Called before the engine is used, once it is certain that it
    /// will be: a mount that fails for another reason excludes nothing.
    package func apply() throws(EngineError) {
        try completed { () throws(Blocked) in try applyPatterns() }
    }

    /// Items that stayed here are planned again. What the remote has and a pattern excludes now is removed
    /// here, as if the remote had lost it, and stays there. What has changes is left alone until these are
    /// sent; the next mount removes it.
    private func applyPatterns() throws(Blocked) {
        let patterns = exclusions.text
        guard try store.read({ try $0.appliedExclusions() }) != patterns else { return }
        // Before the items become pending that stayed here.
        let changed = try store.read { try $0.inodesAtOrAbovePending() }
        let due = agenda.due()
        try store.write { try $0.reconsiderExcluded(at: clock.wallTime, due: due) }
        guard try withdrawExcluded(except: changed) else { return }
        try store.write { try $0.setAppliedExclusions(patterns) }
    }

    /// - Returns: Whether none of the excluded items has changes.
    private func withdrawExcluded(except changed: Set<InodeNumber>) throws(Blocked) -> Bool {
        if exclusions.isEmpty { return true }
        var (last, count, isComplete) = (InodeNumber(rawValue: 0), 0, true)
        while true {
            let (end, matching) = try store.read { database in
                let items = try database.syncedItems(after: last, limit: Self.comparedItems)
                return (
                    items.last?.inode,
                    try items.filter { item in
                        try matches(item.name, in: item.parent, item.kind, database)
                    }.map(\.inode)
                )
            }
            guard let end else { break }
            let unchanged = matching.filter { !changed.contains($0) }
            isComplete = isComplete && unchanged.count == matching.count
            count += unchanged.count
            let due = agenda.due()
            try store.write {
                try $0.noteGone(unchanged, isHeld: false, at: clock.wallTime, due: due)
            }
            last = end
        }
        if count > 0 {
            logger.info("items are excluded from now on", metadata: ["count": "\(count)"])
        }
        return isComplete
    }

    private static var comparedItems: Int { 1_000 }

    /// Whether a pattern stands for a name on the remote; its contents go with it.
    private func matches(
        _ name: FileName, in parent: InodeNumber, _ kind: FileKind, _ database: Database
    ) throws -> Bool {
        let isDirectory = kind == .directory
        // The path takes longer than the comparison.
        guard exclusions.mayMatch(name, isDirectory: isDirectory),
            let key = try database.remoteKey(of: parent)
        else { return false }
        return exclusions.match((key.names + [name])[...], isDirectory: isDirectory)
    }
}
