/// A server of the daemon of one mount.
package protocol DaemonServer: Sendable {
    /// Serves until the calling task is cancelled.
    ///
    /// - Parameter ready: Called once, when connections are accepted.
    /// - Throws: If it cannot accept any.
    func run(ready: @escaping @Sendable () -> Void) async throws(ControlError)
}
