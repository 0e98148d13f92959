import Synchronization

/// One value that callbacks on another thread set.
final class LockedValue<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    init() {}

    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
