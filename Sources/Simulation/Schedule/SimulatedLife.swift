import Synchronization

/// The lifetime of a simulated process. Counts its steps, and ends it before a chosen one.
///
/// A step is an operation of the disk, a commit of the database or a request to the provider. After
/// the process has died none of them has an effect, so that code still running in memory changes
/// nothing.
package final class SimulatedLife: Sendable {
    /// The process died before the step.
    struct Death: Error {}

    private struct State {
        var isDead = false
        var stepCount = 0
        var deathStep: Int?
    }

    private let state = Mutex(State())
    private let onDeath: @Sendable () -> Void

    /// - Parameter onDeath: Called once, before any further step.
    init(onDeath: @escaping @Sendable () -> Void) {
        self.onDeath = onDeath
    }

    package var isDead: Bool { state.withLock { $0.isDead } }

    /// The number of steps begun, including the one prevented by the death.
    package var stepCount: Int { state.withLock { $0.stepCount } }

    /// Ends the process before its `count`th step from now on, 1 being the next.
    package func dieBeforeStep(_ count: Int) {
        state.withLock { $0.deathStep = $0.stepCount + count }
    }

    /// Cancels ``dieBeforeStep(_:)``.
    package func dieNoMore() {
        state.withLock { $0.deathStep = nil }
    }

    func die() {
        let isNew = state.withLock { state in
            defer { state.isDead = true }
            return !state.isDead
        }
        if isNew { onDeath() }
    }

    /// Begins a step.
    func step() throws(Death) {
        let isDue = state.withLock { state in
            guard !state.isDead else { return false }
            state.stepCount += 1
            return state.stepCount == state.deathStep
        }
        if isDue { die() }
        if isDead { throw Death() }
    }
}
