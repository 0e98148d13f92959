import Control
import Engine
import Host
import Synchronization

// The trash of the control API in terms of the engine.

extension MountedEngine {
    func trash(
        below path: String, after position: Int64, limit: Int
    ) async throws(ControlError) -> TrashPage {
        try await onEngine { () async throws(EngineError) in
            let page = try engine.trash.files(below: path, after: position, limit: limit)
            return TrashPage(items: page.files.map { TrashItem($0) }, next: page.next)
        }
    }

    func restore(
        _ paths: [String], to folder: String?, isAll: Bool
    ) -> AsyncThrowingStream<RestoreProgress, any Error> {
        stream { report in
            let pace = StreamPace()
            let progress = Mutex(RestoreProgress())
            for path in paths {
                try await self.onEngine { () async throws(EngineError) in
                    try await self.engine.trash.restore(
                        below: path, to: folder, isAll: isAll
                    ) { outcome in
                        progress.withLock { progress in
                            progress.add(outcome)
                            if pace.isDue() { report(progress.take()) }
                        }
                    }
                }
            }
            progress.withLock { progress in
                progress.isDone = true
                report(progress)
            }
        }
    }
}

extension RestoreProgress {
    fileprivate mutating func add(_ outcome: TrashRequests.Outcome) {
        switch outcome.result {
        case .restored(let path, let isRenamed):
            files += 1
            bytes += outcome.size
            restored.append(Restored(path: outcome.path, to: path, isRenamed: isRenamed))
        case .failed(let failure):
            failed.append(.init(path: outcome.path, error: Problem(failure)))
        }
    }

    /// Returns the progress, and begins the lists of the next one.
    fileprivate mutating func take() -> Self {
        defer { (restored, failed) = ([], []) }
        return self
    }
}

extension TrashItem {
    init(_ file: TrashedFile) {
        self.init(
            path: file.path, bytes: file.size, modified: file.modified.date,
            deleted: file.deleted.date, expires: file.end.date)
    }
}
