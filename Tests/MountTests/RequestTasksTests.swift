import Dispatch
import Synchronization
import Testing

@testable import Mount

struct RequestTasksTests {
    @Test
    func `a cancelled request's task is cancelled`() async throws {
        let tasks = RequestTasks(countMax: 1, executor: PoolExecutor())
        let ticket = try #require(tasks.admit().ticket)
        let (ended, end) = AsyncStream<Void>.makeStream()
        tasks.start(ticket) {
            await untilCancelled()
            end.finish()
        }
        tasks.cancel(ticket)
        for await _ in ended {}
        await blocking { tasks.drain() }
    }

    @Test
    func `a request interrupted before its task exists is cancelled at once`() async throws {
        let tasks = RequestTasks(countMax: 1, executor: PoolExecutor())
        let ticket = try #require(tasks.admit().ticket)
        tasks.cancel(ticket)
        let (ended, end) = AsyncStream<Void>.makeStream()
        tasks.start(ticket) {
            await untilCancelled()
            end.finish()
        }
        for await _ in ended {}
    }

    @Test
    func `a request beyond the bound is refused at once, and admitted after another ended`()
        async throws
    {
        let tasks = RequestTasks(countMax: 1, executor: PoolExecutor())
        let first = try #require(tasks.admit().ticket)
        #expect(tasks.admit() == .full)
        let (ended, end) = AsyncStream<Void>.makeStream()
        tasks.start(first) {
            await untilCancelled()
            end.finish()
        }
        tasks.cancel(first)
        for await _ in ended {}
        var second = tasks.admit()
        // The place is free soon after the task's last statement.
        while second == .full {
            await Task.yield()
            second = tasks.admit()
        }
        tasks.start(try #require(second.ticket)) {}
        tasks.stop()
        await blocking { tasks.drain() }
    }

    @Test
    func `stopping cancels all tasks, and draining waits for the last`() async throws {
        let tasks = RequestTasks(countMax: 16, executor: PoolExecutor())
        let ended = Atomic(0)
        for _ in 0..<16 {
            let ticket = try #require(tasks.admit().ticket)
            tasks.start(ticket) {
                await untilCancelled()
                ended.add(1, ordering: .relaxed)
            }
        }
        tasks.stop()
        await blocking { tasks.drain() }
        #expect(ended.load(ordering: .relaxed) == 16)
        #expect(tasks.admit() == .stopped)
    }
}

/// Runs tasks on a pool of Dispatch.
final class PoolExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "test", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs `body` on a thread that may block, as FUSE threads may.
private func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}

/// Returns once the calling task is cancelled.
private func untilCancelled() async {
    let (never, end) = AsyncStream<Void>.makeStream()
    await withTaskCancellationHandler {
        for await _ in never {}
    } onCancel: {
        end.finish()
    }
}
