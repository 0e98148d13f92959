import Synchronization

/// One value that callbacks of another thread set.
final class WebDAVBox<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)

    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }

    func update(_ change: (inout Value?) -> Void) {
        state.withLock { change(&$0) }
    }
}
