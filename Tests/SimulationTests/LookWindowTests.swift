import Simulation
import Synchronization
import Testing

@testable import Engine

/// Fetches of metadata ahead of a program, to a store that answers a few requests at a time, in their
/// order.
@Suite("Metadata fetched ahead")
struct LookWindowTests {
    private final class Store: Sendable {
        private let duration: Duration
        /// Each of so many answers takes a second more; nil for none.
        private let slowEach: Int?
        /// The times at which its places are free.
        private let places: Mutex<[Duration]>
        let answers = Locked(0)

        init(places: Int, duration: Duration, slowEach: Int? = nil) {
            self.duration = duration
            self.slowEach = slowEach
            self.places = Mutex(Array(repeating: .zero, count: places))
        }

        func answer(on clock: any Clock) async {
            let end = places.withLock { places in
                let next = places.indices.min { places[$0] < places[$1] } ?? 0
                places[next] = max(places[next], clock.uptime) + duration
                return places[next]
            }
            try? await clock.sleep(until: end)
            let number = answers.withLock { answers in
                answers += 1
                return answers
            }
            if let slowEach, number.isMultiple(of: slowEach) {
                try? await clock.sleep(until: end + .seconds(1))
            }
        }
    }

    /// Runs the fetches of a queue until `body` ends.
    private static func running(
        _ queue: MetadataQueue, sideBySide: Int = 256, on clock: any Clock,
        look: @escaping @Sendable (InodeNumber) async -> Void,
        while body: () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                await queue.run(sideBySide: sideBySide, on: clock) {
                    false
                } prepare: { inodes in
                    inodes
                } look: { inode, _ in
                    await look(inode)
                }
            }
            try await body()
            group.cancelAll()
        }
    }

    private static func run(
        _ store: Store,
        _ body: @escaping @Sendable (Scenario, MetadataQueue) async throws -> Void
    ) throws {
        try Scenario.run { it in
            let (queue, clock) = (MetadataQueue(), it.mount.clock)
            try await running(queue, on: clock) { _ in
                await store.answer(on: clock)
            } while: {
                for number in 0..<MetadataQueue.expectedMax {
                    queue.request(InodeNumber(rawValue: 2 + Int64(number)), isAwaited: false)
                }
                try await body(it, queue)
            }
        }
    }

    /// Goal: a program that looks at one file waits for it, whatever else is fetched.
    @Test(arguments: [100, 250, 500])
    func `leaves room for that which a program waits for on a slow store`(
        milliseconds: Int
    ) throws {
        try Self.run(Store(places: 8, duration: .milliseconds(milliseconds))) { it, queue in
            for number in 0..<5 {
                try await it.wait(.seconds(2))
                let begin = it.mount.clock.uptime
                let inode = InodeNumber(rawValue: 10_000 + Int64(number))
                await queue.request(inode, isAwaited: true).completion.wait(after: 0)
                let took = it.mount.clock.uptime - begin
                #expect(took < MetadataFetcher.patience - .seconds(2), "\(took)")
            }
        }
    }

    @Test func `uses all places of a slow store`() throws {
        let store = Store(places: 8, duration: .milliseconds(250))
        try Self.run(store) { it, _ in
            try await it.wait(.seconds(10))
            #expect(store.answers.withLock { $0 } > 300)
        }
    }

    @Test func `has all places of a quick store within some round trips`() throws {
        let store = Store(places: 256, duration: .milliseconds(20))
        try Self.run(store) { it, _ in
            try await it.wait(.milliseconds(170))
            #expect(store.answers.withLock { $0 } == MetadataQueue.expectedMax)
        }
    }

    /// Goal: no slow walk on a busy machine, whose threads rest now and then.
    @Test func `is as much as before if some answers take long`() throws {
        let store = Store(places: 256, duration: .milliseconds(20), slowEach: 20)
        try Self.run(store) { it, queue in
            var next = Int64(20_000)
            for _ in 0..<50 {
                try await it.wait(.milliseconds(100))
                while queue.room > 0 {
                    queue.request(InodeNumber(rawValue: next), isAwaited: false)
                    next += 1
                }
            }
            #expect(store.answers.withLock { $0 } > 10_000)
        }
    }

    /// Goal: a walk does not wait for the metadata of a directory behind that of a thousand files.
    @Test func `fetches next that which a program needs next`() throws {
        let (directories, files) = ([901, 902, 903], [1, 2, 3, 4])
        let order = Locked<[Int64]>([])
        try Scenario.run { it in
            let (queue, clock) = (MetadataQueue(), it.mount.clock)
            for number in files {
                queue.request(InodeNumber(rawValue: Int64(number)), isAwaited: false)
            }
            // One of them is expected already, behind the files.
            let known = queue.request(InodeNumber(rawValue: 902), isAwaited: false)
            queue.requestNext(directories.map { InodeNumber(rawValue: Int64($0)) })
            queue.requestNext([InodeNumber(rawValue: 3)])
            try await Self.running(queue, sideBySide: 1, on: clock) { inode in
                order.withLock { $0.append(inode.rawValue) }
            } while: {
                await known.completion.wait(after: 0)
                let last = queue.request(InodeNumber(rawValue: 4), isAwaited: true)
                await last.completion.wait(after: 0)
                try await it.wait(.seconds(1))
            }
        }
        // The program may ask for the fourth file before or after the third directory is begun.
        #expect(order.withLock { $0.filter { $0 != 4 }.prefix(4) } == [3, 901, 902, 903])
        #expect(order.withLock { $0.sorted() } == [1, 2, 3, 4, 901, 902, 903], "each of them once")
    }

    @Test func `keeps its bound, whatever is needed next`() {
        let queue = MetadataQueue()
        for number in 0..<MetadataQueue.expectedMax {
            queue.request(InodeNumber(rawValue: 2 + Int64(number)), isAwaited: false)
        }
        let last = InodeNumber(rawValue: 1 + Int64(MetadataQueue.expectedMax))
        let dropped = queue.request(last, isAwaited: false)
        for number in 0..<10 { queue.requestNext([InodeNumber(rawValue: 10_000 + Int64(number))]) }
        #expect(queue.room == 0)
        #expect(dropped.completion.notifications == 1, "its place is taken")
        queue.request(InodeNumber(rawValue: 2), isAwaited: true)
        #expect(queue.room == 1)
    }

    /// Goal: a directory counts as fetched ahead only if all its files have got a place.
    @Test func `tells whether there was room for all that is fetched ahead`() {
        let queue = MetadataQueue()
        let inodes = (1...Int64(MetadataQueue.expectedMax) + 2).map(InodeNumber.init(rawValue:))
        #expect(queue.requestAhead(Array(inodes.dropLast(3))))
        #expect(queue.requestAhead(Array(inodes.prefix(10))), "they are known")
        #expect(!queue.requestAhead(Array(inodes.suffix(3))))
        #expect(queue.room == 0)
        let expected = inodes.dropLast(2).map { queue.request($0, isAwaited: false) }
        #expect(expected.allSatisfy { $0.completion.notifications == 0 }, "those that had room")
    }
}
