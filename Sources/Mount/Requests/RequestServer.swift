import CFuse
import Engine
import Logging
import Synchronization

/// Everything that the requests of one session need: each is a ``Request``.
final class RequestServer: Sendable {
    let engine: Engine
    let tasks: RequestTasks
    /// Requests that wait for the disk, beyond ``syncThreads``.
    let syncs: RequestTasks
    let syncThreads: ThreadAllowance
    let notifier: KernelNotifier
    let form: AttributeForm
    let scanners: Scanners
    let readAhead: ReadAhead
    let lender: Lender
    let cachesSymlinks: Bool
    let logger: Logger
    let meter = RequestMeter()
    /// Read once, so that tracing costs one branch per request while it is off.
    let isTracing: Bool
    /// Whether the kernel can do without opening directories, see `opendir`. Known after INIT.
    let needsNoOpendir = Atomic(false)
    /// Whether the session has asked the kernel to map files that are read past its cache.
    let mapsUncachedFiles = Atomic(false)

    init(
        engine: Engine, tasks: RequestTasks, syncs: RequestTasks, syncThreads: ThreadAllowance,
        notifier: KernelNotifier, form: AttributeForm, scanners: Scanners,
        readAhead: ReadAhead, lender: Lender, cachesSymlinks: Bool, logger: Logger
    ) {
        self.engine = engine
        self.tasks = tasks
        self.syncs = syncs
        self.syncThreads = syncThreads
        self.notifier = notifier
        self.form = form
        self.scanners = scanners
        self.readAhead = readAhead
        self.lender = lender
        self.cachesSymlinks = cachesSymlinks
        self.logger = logger
        isTracing = logger.logLevel <= .trace
    }

    /// The server of the session that a request arrived on.
    static func serving(_ request: fuse_req_t) -> RequestServer {
        guard let userdata = fuse_req_userdata(request) else {
            preconditionFailure("every session is made with its server as user data")
        }
        return of(userdata)
    }

    /// The server that a session was made with.
    static func of(_ userdata: UnsafeMutableRawPointer) -> RequestServer {
        Unmanaged<RequestServer>.fromOpaque(userdata).takeUnretainedValue()
    }

    /// Runs `operation` to completion, fetching the data that it lacks.
    ///
    /// - Parameter cancel: Cancels the calling task.
    func complete<Value: Sendable>(
        _ operation: @Sendable () throws(Blocked) -> Value, startingWith need: MissingData?,
        cancel: @escaping @Sendable () -> Void
    ) async -> Result<Value, EngineError> {
        do throws(EngineError) {
            return .success(
                try await engine.retrying(startingWith: need, cancel: cancel, operation))
        } catch {
            return .failure(error)
        }
    }
}
