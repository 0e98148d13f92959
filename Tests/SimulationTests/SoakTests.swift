import Foundation
import Simulation
import Testing

/// Fresh seeds for as long as asked, or one seed again: `make soak SECONDS=… [SEED=…]`.
@Suite(.enabled(if: Soak.isWanted)) struct SoakTests {
    @Test func `programs end as the model says for as long as asked`() {
        if let seed = Soak.seed {
            Verdict.expectPass(Soak.program(seed))
            return
        }
        let start = ContinuousClock.now
        // Other seeds than last time, and far from those that `make test` runs.
        let first = Soak.first ?? UInt64(Date().timeIntervalSince1970) << 20
        let workers = max(1, ProcessInfo.processInfo.activeProcessorCount)
        let counts = Counts()
        DispatchQueue.concurrentPerform(iterations: workers) { worker in
            var seed = first + UInt64(worker)
            while ContinuousClock.now - start < .seconds(Soak.seconds), counts.failures < 10 {
                let program = Soak.program(seed)
                counts.note(program, hasPassed: Verdict.expectPass(program))
                seed += UInt64(workers)
            }
        }
        counts.report(over: ContinuousClock.now - start)
    }
}

enum Soak {
    static var seconds: Int { environment("APUS_SOAK_SECONDS").flatMap { Int($0) } ?? 0 }
    static var seed: UInt64? { environment("APUS_SEED").flatMap { UInt64($0) } }
    /// How much of the log a failure shows.
    static var logLines: Int { environment("APUS_LOG_LINES").flatMap { Int($0) } ?? 80 }
    static var first: UInt64? { environment("APUS_FIRST_SEED").flatMap { UInt64($0) } }
    static var isWanted: Bool { seconds > 0 || seed != nil }

    /// The seed also decides what kind of program it is.
    static func program(_ seed: UInt64) -> RandomProgram {
        var style = RandomProgram.Style()
        style.hasFaults = seed % 4 != 0
        style.hasDeaths = seed % 4 != 1
        return RandomProgram(seed: seed, style: style)
    }

    private static func environment(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name]
    }
}

/// What the workers of a soak add up.
private final class Counts: @unchecked Sendable {  // sound: the lock guards all of it
    private let lock = NSLock()
    private var runs = 0
    private var steps = 0
    private var failed: [UInt64] = []

    var failures: Int { lock.withLock { failed.count } }

    func note(_ program: RandomProgram, hasPassed: Bool) {
        lock.withLock {
            runs += 1
            steps += program.steps.count
            if !hasPassed { failed.append(program.seed) }
        }
    }

    func report(over duration: Duration) {
        lock.withLock {
            let seconds = Double(duration.components.seconds)
            let rate = String(format: "%.1f", Double(runs) / max(1, seconds))
            print("soak: \(runs) seeds, \(steps) steps, \(rate) seeds a second, failed: \(failed)")
        }
    }
}
