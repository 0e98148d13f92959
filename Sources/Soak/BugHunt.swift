#if BUGS
    import ArgumentParser
    import Dispatch
    import Engine
    import Simulation
    import Synchronization

    /// Makes one mistake after the other in the engine, and counts the seeds until one fails.
    struct BugHunt {
        let seedsMax: UInt64
        let workers: Int

        private struct Catch: Sendable {
            var seed: UInt64
            var flavour: String
            var reason: String
        }

        func run() throws {
            print("| mistake | seeds | flavour | what was found |\n| --- | --- | --- | --- |")
            var missed: [DeliberateBug] = []
            for bug in DeliberateBug.allCases {
                DeliberateBug.make(bug)
                guard let first = hunt() else {
                    missed.append(bug)
                    print("| `\(bug)` | not in \(seedsMax) | | |")
                    continue
                }
                print("| `\(bug)` | \(first.seed + 1) | \(first.flavour) | \(first.reason) |")
            }
            if !missed.isEmpty { throw ExitCode.failure }
        }

        /// The first seed, of those from 0 on, that fails.
        private func hunt() -> Catch? {
            let next = Atomic<UInt64>(0)
            let found = Mutex<Catch?>(nil)
            DispatchQueue.concurrentPerform(iterations: workers) { worker in
                while true {
                    let seed = next.wrappingAdd(1, ordering: .relaxed).oldValue
                    let bound = found.withLock { $0?.seed } ?? seedsMax
                    guard seed < bound else { return }
                    let program = RandomProgram.drawn(from: seed)
                    CrashReport.note(seed, worker: worker)
                    guard let reason = Trial.reason(of: program) else { continue }
                    let new = Catch(
                        seed: seed, flavour: program.flavour.rawValue,
                        reason: String(reason.prefix(100)))
                    found.withLock { old in
                        if old.map({ seed < $0.seed }) ?? true { old = new }
                    }
                }
            }
            return found.withLock { $0 }
        }
    }
#endif
