import Foundation

/// Requests that are at a server at the same time, to find out how many of them a client sends.
///
/// It keeps each until as many as expected have come and no further one has followed them, so that a
/// client without a bound is found out.
package final class Crowd: @unchecked Sendable {
    // Sound: the condition's lock guards the variables. A mutex has no wait with a time limit.
    private let condition = NSCondition()
    private let expected: Int
    private var present = 0
    private var most = 0
    private var isOver = false

    package init(expected: Int) {
        self.expected = expected
    }

    /// The largest number of requests at a time so far.
    package var largest: Int {
        condition.lock()
        defer { condition.unlock() }
        return most
    }

    /// Blocks the thread that serves a request.
    package func pass() {
        condition.lock()
        defer { condition.unlock() }
        present += 1
        most = max(most, present)
        condition.broadcast()
        wait(20) { most < expected }
        // Nothing tells that a client sends no more.
        wait(0.3) { most <= expected }
        isOver = true
        condition.broadcast()
        present -= 1
    }

    private func wait(_ seconds: Double, while isTooFew: () -> Bool) {
        let end = Date(timeIntervalSinceNow: seconds)
        while !isOver, isTooFew(), condition.wait(until: end) {}
    }
}
