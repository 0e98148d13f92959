import Control

/// A folder that is being served: the engine, a provider and a FUSE session, put together.
protocol MountedFolder: MountService {
    /// Mounts, serves the kernel and the remote, and returns once the folder is unmounted: by
    /// ``unmountNow()``, through the control API, or with `fusermount3 -u`.
    ///
    /// - Parameter usable: Called once, when the folder answers.
    /// - Throws: Why it could not be mounted, or what ended it.
    func run(usable: @escaping @Sendable () -> Void) async throws

    /// Unmounts, with the changes left queued; ``run(usable:)`` then returns, at once if it is yet
    /// to begin. Asking twice does no harm.
    func unmountNow() async
}
