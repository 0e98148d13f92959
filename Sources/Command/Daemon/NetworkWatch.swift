import Logging
import SystemCalls

/// Tells the engine when the network of this machine changes: a remote that was lost may be back.
struct NetworkWatch {
    private let changes: RouteChanges
    private let thread: WorkerThread

    /// - Returns: nil if the system does not report changes; the remote is then probed at its intervals.
    init?(_ logger: Logger, changed: @escaping @Sendable () -> Void) {
        do {
            let changes = try RouteChanges()
            self.changes = changes
            thread = try WorkerThread(name: "apus-network") {
                while changes.awaitChange() {
                    logger.debug("the network has changed")
                    changed()
                }
            }
        } catch {
            logger.info("changes of the network are not known", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    func end() {
        changes.close()
        thread.join()
    }
}
