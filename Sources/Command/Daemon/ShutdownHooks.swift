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
        let hooks = hooks.withLock { hooks in
            defer { hooks = [] }
            return hooks
        }
        try? await onOwnThread {
            for hook in hooks.reversed() { hook() }
        }
    }
}
