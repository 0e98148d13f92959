import Synchronization

/// One life of a simulated process: it counts what the process does to the world, and ends at the
/// step that it is told to end at.
///
/// A step is an operation of the disk, a commit of the database or a request to the provider. From
/// the moment of death on none of them has any effect, so whatever the code still does in memory is
/// as good as not done.
package final class SimulatedLife: Sendable {
    /// The process is dead: the step did not happen.
    struct Death: Error {}

    private struct State {
        var isDead = false
        var stepCount = 0
        var deathStep: Int?
    }

    private let state = Mutex(State())
    private let onDeath: @Sendable () -> Void

    /// - Parameter onDeath: Called once, before anything else can happen.
    init(onDeath: @escaping @Sendable () -> Void) {
        self.onDeath = onDeath
    }

    package var isDead: Bool { state.withLock { $0.isDead } }

    /// How many steps were begun, the one that death prevented included.
    package var stepCount: Int { state.withLock { $0.stepCount } }

    /// Lets the process die before its `count`th step from now on, 1 being the next.
    package func dieBeforeStep(_ count: Int) {
        state.withLock { $0.deathStep = $0.stepCount + count }
    }

    /// Takes ``dieBeforeStep(_:)`` back.
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
