import Engine

/// Applies the recorded changes to the names at their beginning, as a program that watches would: the
/// result has no name that is gone.
struct HistoryCheck {
    private let begin: HistoryCursor
    private let names: Set<ObjectKey>

    /// Begins to record changes.
    ///
    /// - Returns: nil if the disk refuses that.
    init?(_ engine: Engine) {
        guard let begin = try? engine.history.present(), let names = try? engine.history.names()
        else { return nil }
        (self.begin, self.names) = (begin, names)
    }

    /// - Throws: ``ProgramFailure`` for a name whose removal was not recorded.
    func check(_ engine: Engine) throws {
        var (names, cursor) = (names, begin)
        // A power cut may have undone the beginning.
        guard let end = try? engine.history.present(), end.isAfter(cursor) else { return }
        while let (changes, last) = try Self.page(after: cursor, engine) {
            for (change, _) in changes { Self.apply(change, to: &names) }
            cursor = last
        }
        let gone = names.subtracting(try engine.history.names())
        guard let one = gone.min(by: { $0.description < $1.description }) else { return }
        throw ProgramFailure("the history has no removal of \(one), nor of \(gone.count - 1) more")
    }

    private static func page(
        after cursor: HistoryCursor, _ engine: Engine
    ) throws -> (changes: [(change: RecordedChange, cursor: HistoryCursor)], end: HistoryCursor)? {
        let changes = try engine.history.changes(after: cursor)
        return changes.last.map { (changes, $0.cursor) }
    }

    private static func apply(_ change: RecordedChange, to names: inout Set<ObjectKey>) {
        switch change.kind {
        case .created: names.insert(change.path)
        case .changed, .uploaded: break
        case .removed: names.remove(change.path)
        case .moved, .conflict:
            guard let former = change.former else { return }
            names.remove(change.path)
            let moved = names.filter { $0.names.starts(with: former.names) }
            names.subtract(moved)
            for name in moved {
                names.insert(
                    ObjectKey(change.path.names + name.names.dropFirst(former.names.count)))
            }
            // It may have been found by the first listing of its directory.
            names.insert(change.path)
        }
    }
}
