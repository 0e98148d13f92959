import ArgumentParser
import Dispatch
import Glibc
import Simulation
import Synchronization

/// Simulates mounts by the thousand, each from a seed of its own, and tells about those that go wrong.
@main
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs simulated mounts with programs and faults drawn from seeds.")

    @Option(help: "For how many seconds.")
    var seconds = 60

    @Option(help: "The first seed; else one that was not run before.")
    var first: UInt64?

    @Option(help: "How many seeds at the most.")
    var count: UInt64 = .max

    @Option(help: "Only this seed, once.")
    var seed: UInt64?

    @Option(help: "Only programs of this flavour: alone, shared, …")
    var flavour: RandomProgram.Flavour?

    @Option(help: "How many lines of the log a failure shows.")
    var logLines = 80

    @Option(help: "How many programs run at the same time.")
    var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    @Option(help: "After how many failures to stop.")
    var failuresMax = 10

    func run() throws {
        #if BUGS
            return try BugHunt(seedsMax: count == .max ? 2_000 : count, workers: workers).run()
        #else
            try soak()
        #endif
    }

    private func soak() throws {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // Far from the seeds that `make test` runs.
        let first = seed ?? first ?? UInt64(now.tv_sec) << 20
        let count = seed == nil ? count : 1
        let start = ContinuousClock.now
        let tally = Mutex(Tally())
        let next = Atomic<UInt64>(0)
        DispatchQueue.concurrentPerform(iterations: min(workers, Int(clamping: count))) { worker in
            while ContinuousClock.now - start < .seconds(seconds),
                tally.withLock({ $0.failed.count }) < failuresMax
            {
                let index = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard index < count else { return }
                let program = RandomProgram.drawn(from: first + index, flavour: flavour)
                CrashReport.note(program.seed, worker: worker)
                let report = Trial.report(on: program, logLines: logLines)
                tally.withLock { $0.note(program, report) }
            }
        }
        let sum = tally.withLock { $0 }
        print(sum.summary(over: ContinuousClock.now - start))
        if !sum.failed.isEmpty { throw ExitCode.failure }
    }
}

extension RandomProgram.Flavour: ExpressibleByArgument {}

/// What the workers add up.
private struct Tally {
    var counts: [String: Int] = [:]
    var steps = 0
    var failed: [UInt64] = []

    mutating func note(_ program: RandomProgram, _ report: String?) {
        counts[program.flavour.rawValue, default: 0] += 1
        steps += program.steps.count
        guard let report else { return }
        failed.append(program.seed)
        print("seed \(program.seed) fails: \(report)\n")
    }

    func summary(over duration: Duration) -> String {
        let runs = counts.values.reduce(0, +)
        let rate = Double(runs) / max(0.001, duration / .seconds(1))
        let cost = Double(clock()) / Double(CLOCKS_PER_SEC) / Double(max(1, runs)) * 1_000
        let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            .joined(separator: ", ")
        let tenths = { (value: Double) in "\((value * 10).rounded() / 10)" }
        return "soak: \(runs) seeds (\(kinds)), \(steps) steps, \(tenths(rate)) seeds a second, "
            + "\(tenths(cost)) ms of CPU a seed; failed: \(failed)"
    }
}
