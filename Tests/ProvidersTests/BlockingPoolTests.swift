import Glibc
import ProviderSupport
import Synchronization
import SystemCalls
import Testing

@Suite struct BlockingPoolTests {
    @Test func `jobs run on own threads, no more at a time than there are`() async throws {
        let pool = try BlockingPool(name: "test", threads: 3)
        let running = Count()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    _ = await pool.run(onCancel: .finish) {
                        running.enter()
                        sched_yield()
                        running.leave()
                    }
                }
            }
        }
        #expect(running.most <= 3)
    }

    /// The one thread is held by a gate; only what may be left alone returns before it opens.
    @Test func `a cancelled task leaves alone what changes nothing, and queued jobs`() async throws
    {
        let pool = try BlockingPool(name: "test", threads: 1)
        let gate = Gate()
        let (started, startedNow) = AsyncStream<Void>.makeStream()
        let hanging = Task {
            await pool.run(onCancel: .abandon) {
                startedNow.finish()
                gate.wait()
            } == nil
        }
        for await _ in started {}
        let ran = Count()
        let queued = Task {
            await pool.run(onCancel: .finish) { ran.enter() } == nil
        }
        hanging.cancel()
        queued.cancel()
        #expect(await hanging.value)
        #expect(await queued.value)
        gate.open()
        #expect(await pool.run(onCancel: .finish) { true } != nil)
        #expect(ran.most == 0)
    }

    @Test func `a cancelled task waits for what changes something once it runs`() async throws {
        let pool = try BlockingPool(name: "test", threads: 1)
        let gate = Gate()
        let (started, startedNow) = AsyncStream<Void>.makeStream()
        let task = Task {
            await pool.run(onCancel: .finish) {
                startedNow.finish()
                gate.wait()
                return 42
            }
        }
        for await _ in started {}
        task.cancel()
        gate.open()
        #expect(await task.value == .success(42))
    }

    @Test func `cleaning up runs in a cancelled task`() async throws {
        let pool = try BlockingPool(name: "test", threads: 1)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await pool.run(onCancel: .ignore) { 42 }
        }
        #expect(await task.value == .success(42))
    }
}

/// Holds a thread until it is opened.
private final class Gate: @unchecked Sendable {
    // Sound: a semaphore is made to be shared by threads.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}

/// How many are in at once.
private final class Count: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func enter() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func leave() { state.withLock { $0.now -= 1 } }
}
