import Engine
import Synchronization
import Testing

@testable import Simulation

@Suite("A commit whose frames cannot be written") struct JoinedWriteTests {
    /// Goal: it fails, leaves nothing, and does not disturb the next one.
    ///
    /// Method: one operation of the disk fails, each of the first ones in turn.
    @Test(arguments: [DiskFaultPlan.Failure.fails, .full])
    func `fails, and leaves nothing`(failure: DiskFaultPlan.Failure) throws {
        let failures = Mutex(0)
        for step in 0..<12 {
            var settings = SimulatedMountSettings()
            settings.keepsDatabaseOnDisk = true
            try Scenario.run(settings: settings) { it in
                _ = try await it.names(in: "")
                it.remote.setReachable(false)
                try await it.wait(.seconds(10))
                var expected = ["a"]
                try await it.makeDirectory("a")
                it.mount.setDiskFaults(DiskFaultPlan(failure, after: step, count: 1))
                for name in ["b", "c", "d", "e"] {
                    do {
                        try await it.makeDirectory(name)
                        expected.append(name)
                    } catch {
                        failures.withLock { $0 += 1 }
                    }
                }
                it.mount.setDiskFaults(DiskFaultPlan())
                try await it.makeDirectory("f")
                expected.append("f")
                #expect(try await it.names(in: "").sorted() == expected)
                await it.mount.kill()
                try it.mount.start()
                #expect(try await it.names(in: "").sorted() == expected)
            }
        }
        #expect(failures.withLock(\.self) > 0)
    }
}
