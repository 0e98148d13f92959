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
    private let since: String?
    private var cursor: HistoryCursor?
    private var events: ArraySlice<ChangeEvent> = []
    private var selection: ChangeSelection

    init(of mount: MountedEngine, since: String?, below paths: [String]) {
        (self.mount, self.since) = (mount, since)
        selection = ChangeSelection(below: paths)
    }

    /// - Returns: nil once the task is cancelled.
    func next() async throws -> ChangeEvent? {
        guard let cursor else { return try await begin() }
        var end = cursor
        while events.isEmpty {
            let changes = try await changes(after: end)
            guard let last = changes.last else { return nil }
            end = last.cursor
            self.cursor = end
            events = changes.compactMap { selection.take(ChangeEvent($0.change, $0.cursor)) }[...]
        }
        return events.removeFirst()
    }

    private func changes(
        after cursor: HistoryCursor
    ) async throws -> [(change: RecordedChange, cursor: HistoryCursor)] {
        try await onEngine(since: cursor) { try await $0.next(after: cursor) }
    }

    private func begin() async throws -> ChangeEvent {
        let begin = try await mount.onEngine { () async throws(EngineError) in
            try mount.engine.history.present()
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
        // A cursor that is not known is refused at once.
        _ = try await onEngine(since: given) { try $0.changes(after: given) }
        cursor = given
        return ChangeEvent(cursor: given.description)
    }

    private func onEngine<Value: Sendable>(
        since cursor: HistoryCursor,
        _ body: @escaping @Sendable (HistoryRequests) async throws -> Value
    ) async throws -> Value {
        let engine = mount.engine
        let result = try await mount.onEngine { () async throws(EngineError) in
            do {
                return Optional(try await body(engine.history))
            } catch is HistoryRequests.Gap {
                return nil
            } catch {
                throw error as? EngineError
                    ?? EngineError(.failed, "report changes", cause: error)
            }
        }
        guard let result else {
            throw ControlError(
                .missing, what: "report the changes since \(cursor)",
                why: "they are not known any more",
                remedy: "look at the files themselves, and watch without --since")
        }
        return result
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
