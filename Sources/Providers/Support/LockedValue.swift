import Synchronization

/// One value that callbacks on another thread set.
package final class LockedValue<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    package init() {}

    package var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    package func update(_ change: (inout Value?) -> Void) {
        state.withLock { change(&$0) }
    }
}
