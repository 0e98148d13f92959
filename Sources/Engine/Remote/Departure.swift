import Logging
import Synchronization

/// The end of an engine, as far as requests to the remote are concerned that cannot be told to stop:
/// they are waited for until a grace is over, and then left alone.
///
/// What was left alone may still happen, as when the process is killed: its note in `attempts` has
/// it looked for after the next start. Nothing else is written here for it any more.
final class Departure: Sendable {
    private struct State {
        var isOver = false
        var alarm: Task<Void, Never>?
        var nextTicket: UInt64 = 0
        /// How to leave the requests that are under way.
        var requests: [UInt64: @Sendable () -> Void] = [:]
    }

    private let grace: Duration
    private let clock: any Clock
    private let logger: Logger
    private let state = Mutex(State())

    init(grace: Duration, clock: any Clock, logger: Logger) {
        self.grace = grace
        self.clock = clock
        self.logger = logger
    }

    /// Begins the grace.
    ///
    /// - Parameter executor: Where its end is waited for.
    func begin(on executor: (any TaskExecutor)?) {
        let end = clock.uptime + grace
        // Not below the task that ends, whose cancellation would end it at once; ``end()`` waits for
        // it.
        let alarm = Task(executorPreference: executor) {
            guard (try? await self.clock.sleep(until: end)) != nil else { return }
            self.leave()
        }
        state.withLock { $0.alarm = alarm }
    }

    /// Nothing is under way any more.
    func end() async {
        let alarm = state.withLock { state in
            defer { state.alarm = nil }
            return state.alarm
        }
        alarm?.cancel()
        await alarm?.value
    }

    private func leave() {
        let requests = state.withLock { state in
            state.isOver = true
            defer { state.requests = [:] }
            // In the order of their beginning, so that a run can be replayed.
            return state.requests.sorted { $0.key < $1.key }
        }
        if requests.isEmpty { return }
        logger.warning("requests left alone", metadata: ["count": "\(requests.count)"])
        for (_, leave) in requests { leave() }
    }

    // MARK: Requests

    /// Makes a request, and waits for it until it is answered or left alone.
    ///
    /// It runs beside the calling task, whose cancellation is passed on to it.
    ///
    /// - Throws: What the request throws; `.cancelled` where it is left alone.
    func outlasting<Value: Sendable>(
        _ attempt: @escaping @autoclosure @Sendable () -> String,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        if state.withLock(\.isOver) {
            throw ProviderError(.cancelled, attempt: attempt(), reason: "the mount has ended")
        }
        let answer = Answer<Value, ProviderError>()
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task = Task(executorPreference: executor) {
            do throws(ProviderError) {
                answer.give(.success(try await request()))
            } catch {
                answer.give(.failure(error))
            }
        }
        let ticket = enter {
            answer.give(
                .failure(
                    ProviderError(
                        .cancelled, attempt: attempt(), reason: "the answer did not come in time")))
        }
        defer { state.withLock { _ = $0.requests.removeValue(forKey: ticket) } }
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    private func enter(_ leave: @escaping @Sendable () -> Void) -> UInt64 {
        let (ticket, isOver) = state.withLock { state in
            state.nextTicket += 1
            if !state.isOver { state.requests[state.nextTicket] = leave }
            return (state.nextTicket, state.isOver)
        }
        if isOver { leave() }
        return ticket
    }
}
