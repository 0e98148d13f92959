import Control

/// A folder that is mounted and served.
protocol MountedFolder: MountService {
    /// Mounts, serves the kernel and the remote, and returns once the folder is unmounted: by
    /// ``unmountNow()``, through the control API, or with `fusermount3 -u`.
    ///
    /// - Parameter usable: Called once, when the folder is usable.
    /// - Throws: The reason why it could not be mounted or served.
    func run(usable: @escaping @Sendable () -> Void) async throws

    /// Unmounts and leaves the changes queued; ``run(usable:)`` then returns, even if it is called
    /// later. May be called twice.
    func unmountNow() async
}
