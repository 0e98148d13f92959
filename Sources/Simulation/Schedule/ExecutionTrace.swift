/// Which job ran when: the interleaving of one run.
package struct ExecutionTrace: Hashable, Sendable {
    package struct Step: Hashable, Sendable {
        package let uptime: Duration
        /// Which task, or other job, counted from 0 as they first ran.
        package let job: Int
        /// How many were ready, this one among them.
        package let readyCount: Int
    }

    /// How many steps are kept for messages.
    private static let stepsKept = 64

    package private(set) var stepCount = 0
    /// A sum over all steps; two runs with the same one took the same way.
    package private(set) var fingerprint: UInt64 = 0
    /// The last ones, oldest first.
    package private(set) var lastSteps: [Step] = []

    mutating func append(_ step: Step) {
        stepCount += 1
        let (seconds, attoseconds) = step.uptime.components
        for part in [Int64(step.job), Int64(step.readyCount), seconds, attoseconds] {
            var mixer = SeededGenerator(seed: fingerprint ^ UInt64(bitPattern: part))
            fingerprint = mixer.next()
        }
        if lastSteps.count == Self.stepsKept { lastSteps.removeFirst() }
        lastSteps.append(step)
    }
}
