import Glibc
import TestBytes

/// Random numbers whose seed a test announces.
struct SeededRandom: RandomNumberGenerator {
    let seed: UInt64
    private var numbers: SplitMix64

    init(seed: UInt64) {
        self.seed = seed
        numbers = SplitMix64(seed: seed)
    }

    /// A seed from the environment's `SEED`, else a fresh one; printed, so that it can be replayed.
    static func announced(_ test: String) -> SeededRandom {
        let given = getenv("SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("\(test): SEED=\(seed)")
        return SeededRandom(seed: seed)
    }

    mutating func next() -> UInt64 { numbers.next() }
}
