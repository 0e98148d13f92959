/// The interleaving of the jobs of one run.
package struct ExecutionTrace: Hashable, Sendable {
    package struct Step: Hashable, Sendable {
        package let uptime: Duration
        /// The number of the task or other job, in the order of their first steps.
        package let job: Int
        /// The number of ready jobs, including this one.
        package let readyCount: Int
    }

    /// The number of steps kept for messages.
    private static let stepsKept = 64

    package private(set) var stepCount = 0
    /// A hash of all steps, equal for runs with the same interleaving.
    package private(set) var fingerprint: UInt64 = 0
    /// The last steps, oldest first.
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
