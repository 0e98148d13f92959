import ArgumentParser
import Dispatch
import Glibc
import Simulation
import Synchronization

/// Runs simulated mounts by the thousand, each from its own seed, and reports those that fail.
@main
struct Soak: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Runs simulated mounts with programs and faults drawn from seeds.")

    @Option(help: "The time to run, in seconds.")
    var seconds = 60

    @Option(help: "The first seed; by default one that was not run before.")
    var first: UInt64?

    @Option(help: "The maximum number of seeds.")
    var count: UInt64 = .max

    @Option(help: "Only this seed, once.")
    var seed: UInt64?

    @Option(help: "Only programs of this scenario: alone, shared, …")
    var scenario: RandomProgram.Scenario?

    @Option(help: "The number of log lines in the report of a failure.")
    var logLines = 80

    @Option(help: "The number of programs to run at the same time.")
    var workers = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))

    @Option(help: "The number of failures after which to stop.")
    var failuresMax = 10

    @Flag(help: "Stop at the lowest seed that fails, and show only its reason.")
    var untilFailure = false

    func run() throws {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // Seeds that `make test` does not run.
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
                guard index < count, tally.withLock({ first + index < $0.bound }) else { return }
                let program = RandomProgram.drawn(from: first + index, scenario: scenario)
                CrashReport.note(program.seed, worker: worker)
                if untilFailure {
                    let reason = Trial.reason(of: program)
                    tally.withLock { $0.noteLowest(program, reason) }
                } else {
                    let report = Trial.report(on: program, logLines: logLines)
                    tally.withLock { $0.note(program, report) }
                }
            }
        }
        let sum = tally.withLock { $0 }
        print(sum.lowest ?? sum.summary(over: ContinuousClock.now - start))
        if !sum.failed.isEmpty { throw ExitCode.failure }
    }
}

extension RandomProgram.Scenario: ExpressibleByArgument {}

/// The results of all workers.
private struct Tally {
    var counts: [String: Int] = [:]
    var steps = 0
    var failed: [UInt64] = []
    /// The lowest seed known to fail, and its failure in one line.
    var bound = UInt64.max
    var lowest: String?

    mutating func note(_ program: RandomProgram, _ report: String?) {
        counts[program.scenario.rawValue, default: 0] += 1
        steps += program.steps.count
        guard let report else { return }
        failed.append(program.seed)
        print("seed \(program.seed) fails: \(report)\n")
    }

    mutating func noteLowest(_ program: RandomProgram, _ reason: String?) {
        counts[program.scenario.rawValue, default: 0] += 1
        steps += program.steps.count
        guard let reason, program.seed < bound else { return }
        failed = [program.seed]
        bound = program.seed
        lowest = "seed \(program.seed), \(program.scenario): \(reason.prefix(100))"
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
