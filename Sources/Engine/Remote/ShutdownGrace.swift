import Logging
import Synchronization

/// Shuts down requests to the remote that cannot be cancelled: waits for them during a grace
/// period, then abandons them.
///
/// An abandoned request may still take effect, as after a kill: its record in `intents` makes the
/// next start verify it. Nothing else is stored for it.
final class ShutdownGrace: Sendable {
    private struct State {
        var isOver = false
        var alarm: Task<Void, Never>?
        var nextTicket: UInt64 = 0
        /// Closures that abandon the requests in flight, by ticket.
        var requests: [UInt64: @Sendable () -> Void] = [:]
    }

    /// How long a request that was cancelled may take to end, before it is abandoned.
    private static let cancellationMax: Duration = .seconds(30)

    private let grace: Duration
    private let clock: any Clock
    private let deadlines: Deadlines
    private let logger: Logger
    private let state = Mutex(State())

    init(grace: Duration, clock: any Clock, deadlines: Deadlines, logger: Logger) {
        self.grace = grace
        self.clock = clock
        self.deadlines = deadlines
        self.logger = logger
    }

    /// Begins the grace period.
    ///
    /// - Parameter executor: Runs the timer.
    func begin(on executor: (any TaskExecutor)?) {
        let end = clock.uptime + grace
        // Unstructured, because cancelling the ending task would end the timer at once; ``end()``
        // waits for it.
        let alarm = Task(executorPreference: executor) {
            guard (try? await self.clock.sleep(until: end)) != nil else { return }
            self.leave()
        }
        state.withLock { $0.alarm = alarm }
    }

    /// Cancels the timer, once no request is in flight.
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
            // In starting order, so that a run can be replayed.
            return state.requests.sorted { $0.key < $1.key }
        }
        if requests.isEmpty { return }
        logger.warning(
            "in-flight requests abandoned at shutdown", metadata: ["count": "\(requests.count)"])
        for (_, leave) in requests { leave() }
    }

    // MARK: Requests

    /// Performs a request, and waits until it is answered or abandoned.
    ///
    /// It runs in its own task; cancellation of the calling task is passed on to it.
    ///
    /// - Parameters:
    ///   - limit: Its maximum duration, after which it is cancelled, and abandoned if that has no effect;
    ///     nil for none.
    ///   - stage: The stage of an outage at which it is cancelled too; nil for none.
    /// - Throws: The request's error; `.cancelled` if it is abandoned; `.unreachable` if it was
    ///   cancelled as above.
    func outlasting<Value: Sendable>(
        _ attempt: @escaping @autoclosure @Sendable () -> String, within limit: Duration?,
        endsAt stage: OutageStage?,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        if state.withLock(\.isOver) {
            throw ProviderError(.cancelled, attempt: attempt(), reason: "the mount has ended")
        }
        let answer = Promise<Value, ProviderError>()
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task = Task(executorPreference: executor) {
            do throws(ProviderError) {
                answer.fulfil(.success(try await request()))
            } catch {
                answer.fulfil(.failure(error))
            }
        }
        let ticket = enter {
            answer.fulfil(
                .failure(
                    ProviderError(
                        .cancelled, attempt: attempt(), reason: "not answered before shutdown")))
        }
        defer { state.withLock { _ = $0.requests.removeValue(forKey: ticket) } }
        func wait() async -> Result<Value, ProviderError> {
            await withTaskCancellationHandler {
                await answer.wait()
            } onCancel: {
                task.cancel()
            }
        }
        guard limit != nil || stage != nil else { return try await wait().get() }
        let start = clock.uptime
        let (result, isLate) = await deadlines.limiting(
            to: limit.map { start + $0 }, endsAt: stage,
            cancel: {
                task.cancel()
                // A provider may have to wait for the end of what it has begun.
                Task(executorPreference: executor) {
                    try? await self.clock.sleep(until: self.clock.uptime + Self.cancellationMax)
                    answer.fulfil(
                        .failure(
                            ProviderError(
                                .unreachable, attempt: attempt(), reason: "no answer in time")))
                }
            }, wait)
        guard isLate, case .failure = result else { return try result.get() }
        throw ProviderError(silentSince: start, at: clock.uptime, attempt: attempt())
    }

    /// Performs a request that ends at once when it is cancelled, until the remote is out of reach.
    ///
    /// - Throws: The request's error; `.unreachable` if the remote is out of reach.
    func untilOutage<Value: Sendable>(
        _ attempt: @autoclosure () -> String,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let start = clock.uptime
        let (result, isLate) = await deadlines.limitingTask(to: nil, endsAt: .outOfReach) {
            do throws(ProviderError) {
                return Result<Value, ProviderError>.success(try await request())
            } catch {
                return .failure(error)
            }
        }
        guard isLate, case .failure = result else { return try result.get() }
        throw ProviderError(silentSince: start, at: clock.uptime, attempt: attempt())
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

extension ProviderError {
    /// A request that was not answered.
    fileprivate init(silentSince start: Duration, at now: Duration, attempt: String) {
        self.init(
            .unreachable, attempt: attempt,
            reason: "no answer for \((now - start).components.seconds) seconds")
    }
}
