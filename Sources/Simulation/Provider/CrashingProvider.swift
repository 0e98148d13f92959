import Engine
import Synchronization

/// A provider that makes no requests after its process has died.
///
/// A change in flight when the process dies or abandons it may still happen, as the request has
/// been sent. ``waitForRequests()`` waits for its end.
final class CrashingProvider: ProviderWrapper {
    private struct State {
        var random: SeededGenerator
        var requests: [Int: Task<Void, Never>] = [:]
        var requestsMade = 0
    }

    private let provider: SimulatedProvider
    private let life: SimulatedLife
    private let executor: SeededExecutor
    private let state: Mutex<State>

    init(
        _ provider: SimulatedProvider, life: SimulatedLife, executor: SeededExecutor,
        random: SeededGenerator
    ) {
        self.provider = provider
        self.life = life
        self.executor = executor
        state = Mutex(State(random: random))
    }

    var inner: any Provider { provider }

    /// Returns when no request is in flight.
    func waitForRequests() async {
        while let request = state.withLock({ $0.requests.min { $0.key < $1.key } }) {
            await request.value.value
        }
    }

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        do throws(SimulatedLife.Death) {
            try life.step()
        } catch {
            throw ProviderError(.unreachable, attempt: "\(call)", reason: "the process is dead")
        }
        switch call {
        case .list, .probe, .stat, .read, .space, .publicLink, .follow, .changes:
            return try await request()
        case .prepare, .write, .abandon, .createDirectory, .createSymlink, .setAttributes, .move,
            .delete:
            return try await change(call, request)
        }
    }

    private func change<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let answer = Promise<Value, ProviderError>()
        let number = state.withLock { state in
            state.requestsMade += 1
            return state.requestsMade
        }
        let task = Task(executorPreference: executor) {
            do throws(ProviderError) {
                answer.fulfil(.success(try await request()))
            } catch {
                answer.fulfil(.failure(error))
            }
            self.state.withLock { _ = $0.requests.removeValue(forKey: number) }
        }
        let goesOn = state.withLock { state in
            state.requests[number] = task
            return state.random.nextBool()
        }
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            if provider.settings.finishesChanges { return }
            if !goesOn { task.cancel() }
            answer.fulfil(
                .failure(ProviderError(.cancelled, attempt: "\(call)", reason: "cancelled")))
        }
        return try result.get()
    }
}
