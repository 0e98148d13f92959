import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Host

@Suite struct ThreadPoolExecutorTests {
    @Test
    func `tasks, their children and code after a suspension run on the named threads`()
        async throws
    {
        let pool = try ThreadPoolExecutor(name: "apus-test", threadCount: 3)
        let names = await Task(executorPreference: pool) {
            var names = [Self.threadName()]
            await Task.yield()
            names.append(Self.threadName())
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        await Task.yield()
                        return Self.threadName()
                    }
                }
                for await name in group { names.append(name) }
            }
            return Set(names)
        }.value
        pool.shutDown()
        #expect(names.isSubset(of: ["apus-test-0", "apus-test-1", "apus-test-2"]))
    }

    @Test func `each thread can run a task that blocks`() async throws {
        let pool = try ThreadPoolExecutor(name: "apus-test", threadCount: 4)
        let meeting = Meeting(of: 4)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask(executorPreference: pool) { meeting.waitForAll() }
            }
        }
        pool.shutDown()
    }

    @Test func `shutting down runs the queued jobs first`() throws {
        let pool = try ThreadPoolExecutor(name: "apus-test", threadCount: 2)
        let runs = Tally()
        for _ in 0..<1_000 {
            Task(executorPreference: pool) { runs.count.withLock { $0 += 1 } }
        }
        pool.shutDown()
        #expect(runs.count.withLock { $0 } == 1_000)
    }

    @Test func `a task that wakes after the shutdown still ends`() async throws {
        let pool = try ThreadPoolExecutor(name: "apus-test", threadCount: 1)
        let (started, start) = AsyncStream<Void>.makeStream()
        let (ended, end) = AsyncStream<Void>.makeStream()
        let straggler = Task(executorPreference: pool) {
            start.finish()
            for await _ in ended {}
            return true
        }
        for await _ in started {}
        pool.shutDown()
        end.finish()
        #expect(await straggler.value)
    }

    /// The kernel's name of the calling thread.
    static func threadName() -> String {
        guard let file = fopen("/proc/thread-self/comm", "r") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 32)
        guard fgets(&line, Int32(line.count), file) != nil else { return "" }
        return String(decoding: line.prefix { $0 > 10 }.map(UInt8.init), as: UTF8.self)
    }

    private final class Tally: Sendable {
        let count = Mutex(0)
    }

    /// A barrier that blocks each thread until all have arrived.
    private final class Meeting: Sendable {
        private let expected: Int
        private let arrived = Mutex(0)
        private let door = DispatchSemaphore(value: 0)

        init(of expected: Int) {
            self.expected = expected
        }

        func waitForAll() {
            let isLast = arrived.withLock { count in
                count += 1
                return count == expected
            }
            if isLast {
                for _ in 0..<expected { door.signal() }
            }
            door.wait()
        }
    }
}
