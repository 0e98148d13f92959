import Control
import Engine

// The stream of changes of the control API in terms of the engine.

extension MountedEngine {
    func changes(
        since cursor: String?, below paths: [String]
    ) -> AsyncThrowingStream<ChangeEvent, any Error> {
        let pages = ChangePages(of: self, since: cursor, below: paths)
        return AsyncThrowingStream { try await pages.next() }
    }
}

/// Reads changes as they are asked for, so that a slow reader makes no others wait in memory.
private actor ChangePages {
    private let mount: MountedEngine
    private let paths: [String]
    private let since: String?
    private var cursor: HistoryCursor?
    private var events: ArraySlice<ChangeEvent> = []

    init(of mount: MountedEngine, since: String?, below paths: [String]) {
        (self.mount, self.since, self.paths) = (mount, since, paths)
    }

    /// - Returns: nil once the task is cancelled.
    func next() async throws -> ChangeEvent? {
        guard var cursor else { return try begin() }
        while events.isEmpty {
            let changes: [(change: RecordedChange, cursor: HistoryCursor)]
            do {
                changes = try await mount.engine.history.next(after: cursor)
            } catch is HistoryRequests.Gap {
                throw ControlError(
                    .missing, what: "report the changes since \(cursor)",
                    why: "they are not known any more",
                    remedy: "look at the files themselves, and watch without --since")
            } catch let error as EngineError {
                throw ControlError(error)
            }
            guard let last = changes.last else { return nil }
            cursor = last.cursor
            self.cursor = cursor
            events =
                changes.map { ChangeEvent($0.change, $0.cursor) }
                .filter { $0.isBelow(paths) }[...]
        }
        return events.removeFirst()
    }

    private func begin() throws(ControlError) -> ChangeEvent {
        let begin: HistoryCursor
        do {
            begin = try mount.engine.history.present()
        } catch {
            throw ControlError(error)
        }
        guard let since else {
            cursor = begin
            return ChangeEvent(cursor: begin.description)
        }
        guard let given = HistoryCursor(since) else {
            throw ControlError(
                .invalid, what: "report the changes since \"\(since)\"",
                why: "it is no cursor", remedy: "use the \"cursor\" of an earlier change")
        }
        cursor = given
        return ChangeEvent(cursor: given.description)
    }
}

extension ChangeEvent {
    fileprivate init(_ change: RecordedChange, _ cursor: HistoryCursor) {
        self.init(
            cursor: cursor.description, change: Kind(change.kind),
            side: change.side == .local ? .local : .remote, path: change.path.description,
            from: change.former?.description, time: change.time.date)
    }
}

extension ChangeEvent.Kind {
    fileprivate init(_ kind: RecordedChange.Kind) {
        self =
            switch kind {
            case .created: .created
            case .changed: .changed
            case .moved: .moved
            case .removed: .removed
            case .uploaded: .uploaded
            case .conflict: .conflict
            }
    }
}
