import Control
import Engine

// Decisions about bulk deletions that are held, with their progress.

extension MountedEngine {
    func confirmDeletions() -> AsyncThrowingStream<DeletionsReport, any Error> {
        stream { report in
            let pace = StreamPace()
            let confirmed = try await self.onEngine { () async throws(EngineError) in
                let confirmed = try await self.engine.deletions.confirm { progress in
                    if pace.isDue() { report(DeletionsReport(progress, isDone: false)) }
                }
                report(DeletionsReport(confirmed, isDone: false))
                // The names are gone when the command returns, unless there are very many.
                if confirmed.here.items > 0 {
                    try await self.engine.deletions.awaitConfirmed(within: .seconds(5))
                }
                return confirmed
            }
            report(DeletionsReport(confirmed, isDone: true))
        }
    }

    func rejectDeletions() -> AsyncThrowingStream<RejectionReport, any Error> {
        stream { report in
            let pace = StreamPace()
            let rejected = try await self.onEngine { () async throws(EngineError) in
                try await self.engine.deletions.reject { progress in
                    if pace.isDue() { report(RejectionReport(progress, isDone: false)) }
                }
            }
            report(RejectionReport(rejected, isDone: true))
        }
    }
}

extension DeletionsReport {
    fileprivate init(_ confirmed: ConfirmedDeletions, isDone: Bool) {
        self.init(
            here: HeldCounts(confirmed.here), released: confirmed.released,
            onRemote: confirmed.onRemote, isDone: isDone)
    }
}

extension RejectionReport {
    fileprivate init(_ rejected: RejectedDeletions, isDone: Bool) {
        self.init(
            sentAgain: UInt64(rejected.sentAgain), broughtBack: UInt64(rejected.broughtBack),
            left: rejected.left, leftPaths: rejected.leftPaths, isDone: isDone)
    }
}
