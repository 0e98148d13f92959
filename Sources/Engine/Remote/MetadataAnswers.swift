import Synchronization

/// An answer with the metadata of one object, and the state in which it was requested.
struct MetadataAnswer: Sendable {
    let inode: InodeNumber
    let place: MetadataPlace
    let object: RemoteObject
}

/// The place of an object without metadata, and its agreed state.
struct MetadataPlace: Sendable {
    let key: ObjectKey
    let synced: SyncedRecord
}

/// Merges answers that arrive about the same time in one transaction.
///
/// The first caller merges its answer at once; the next one takes all that have arrived meanwhile.
final class MetadataAnswers: Sendable {
    typealias Outcome = Result<Bool, ProviderError>

    private enum Turn: Sendable {
        case isMerged(Outcome)
        /// This caller is the next to merge, beginning with its own answer.
        case merges
    }

    private struct Waiting: Sendable {
        let answer: MetadataAnswer
        let turn: Promise<Turn, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isMerging = false
    }

    private let state = Mutex(State())

    /// Returns once an answer is merged.
    ///
    /// - Parameters:
    ///   - limit: Maximum number of answers in one transaction.
    ///   - body: Merges some answers, and returns the outcome for each.
    func merge(
        _ answer: MetadataAnswer, limit: Int, _ body: ([MetadataAnswer]) -> [Outcome]
    ) async -> Outcome {
        let own = Waiting(answer: answer, turn: Promise())
        let isFirst = state.withLock { state in
            state.waiting.append(own)
            defer { state.isMerging = true }
            return !state.isMerging
        }
        if !isFirst, case .success(.isMerged(let outcome)) = await own.turn.wait() {
            return outcome
        }
        // The others begin with the own one: callers merge in the order of their arrival.
        let batch = state.withLock { state in
            defer { state.waiting.removeFirst(min(limit, state.waiting.count)) }
            return Array(state.waiting.prefix(limit))
        }
        let outcomes = body(batch.map(\.answer))
        for (waiting, outcome) in zip(batch, outcomes).dropFirst() {
            waiting.turn.fulfil(.success(.isMerged(outcome)))
        }
        let next = state.withLock { state in
            state.isMerging = !state.waiting.isEmpty
            return state.waiting.first
        }
        next?.turn.fulfil(.success(.merges))
        return outcomes[0]
    }
}
