import Logging
import Simulation
import Synchronization
import Testing

@testable import Engine
@testable import Mount

struct RequestServerTests {
    /// Method: the root directory has never been listed, and its entries need no other data.
    @Test
    func `an operation that lacks data runs again only when the data was fetched`() throws {
        let mount = try SimulatedMount(seed: 1, settings: SimulatedMountSettings())
        try mount.provider.otherClientWrites(ObjectKey([FileName("file")!]), [1, 2, 3])
        try mount.run {
            try mount.start()
            let engine = mount.engine
            let server = RequestServer(
                engine: engine, tasks: RequestTasks(countMax: 1, executor: PoolExecutor()),
                syncs: RequestTasks(countMax: 1, executor: PoolExecutor()),
                syncThreads: ThreadAllowance(1),
                notifier: KernelNotifier(logger: Logger(label: "test")), form: AttributeForm(),
                scanners: Scanners(), readAhead: ReadAhead(bytes: 0, mountPoint: "/"),
                lender: Lender(isReadOnly: false, logger: Logger(label: "test")),
                cachesSymlinks: false, logger: Logger(label: "test"))
            let runs = Mutex(0)
            let list = { @Sendable () throws(Blocked) in
                runs.withLock { $0 += 1 }
                return try engine.entries(of: .root, after: 0, limit: 10)
            }
            guard case .failure(.awaits(let need)) = Result(catching: list) else {
                Issue.record("the root directory was listed before")
                return
            }
            let entries = try await server.complete(list, startingWith: need) {}.get()
            #expect(entries.map(\.name.description) == ["file"])
            #expect(runs.withLock { $0 } == 2)
        }
    }
}
