import Synchronization

/// Work that has to be done before this process ends in any orderly way, such as ending a helper
/// program or removing a directory. A `deinit` may not run then.
final class ShutdownHooks: Sendable {
    private let hooks = Mutex<[@Sendable () -> Void]>([])

    func add(_ hook: @escaping @Sendable () -> Void) {
        hooks.withLock { $0.append(hook) }
    }

    /// Runs each hook once, the last one first.
    func run() async {
        try? await onOwnThread { self.runHere() }
    }

    /// Like ``run()``, on the calling thread, which may be blocked for some seconds.
    func runHere() {
        let hooks = hooks.withLock { hooks in
            defer { hooks = [] }
            return hooks
        }
        for hook in hooks.reversed() { hook() }
    }
}
