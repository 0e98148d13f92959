import CFuse
package import Engine
import Glibc
package import Logging
import Synchronization
import SystemCalls

/// One mount, from mounting to the last answer.
///
/// Call ``mount()``, then ``run()`` on a thread that may block; it returns after ``unmount()``,
/// ``stop()``, or an unmount by another process. libfuse's signal handlers are not installed: the
/// command handles signals.
package final class FuseSession: Sendable {
    private enum State {
        case idle
        case mounted(SessionHandle)
        case ended
    }

    private let options: MountOptions
    private let notifier: KernelNotifier
    private let server: RequestServer
    private let tasks: RequestTasks
    private let syncs: RequestTasks
    private let logger: Logger
    private let loop = LoopThread()
    private let state = Mutex(State.idle)

    /// - Parameters:
    ///   - engine: Its kernel cache becomes this session's.
    ///   - executor: Runs requests that wait for the network; its threads may block.
    ///   - syncExecutor: Runs requests that wait for the disk, if many do.
    package init(
        engine: Engine, options: MountOptions, executor: any TaskExecutor,
        syncExecutor: any TaskExecutor, logger: Logger
    ) {
        self.options = options
        notifier = KernelNotifier(logger: logger)
        self.logger = logger
        tasks = RequestTasks(countMax: options.waitingRequestsMax, executor: executor)
        // The kernel has a bound on the requests under way.
        syncs = RequestTasks(countMax: .max, executor: syncExecutor)
        server = RequestServer(
            engine: engine, tasks: tasks, syncs: syncs,
            syncThreads: ThreadAllowance(options.threadsMax / 2), notifier: notifier,
            form: options.form, scanners: options.scanners,
            readAhead: ReadAhead(bytes: options.readAheadBytes, mountPoint: options.mountPoint),
            lender: Lender(isReadOnly: options.isReadOnly, logger: logger),
            cachesSymlinks: options.cachesSymlinks, logger: logger)
        engine.attach(notifier)
    }

    deinit {
        // Mounted but never run: no request would be answered.
        if case .mounted(let handle) = state.withLock({ $0 }) { handle.end() }
    }

    /// Whether the kernel reads whole local files by itself.
    package var lending: Lending { server.lender.lending }

    package var meter: RequestMeter { server.meter }

    /// Mounts; from then on requests wait for ``run()``. Call once.
    package func mount() throws(MountError) {
        LibfuseLog.shared.use(logger)
        try Prerequisites.check(options, attempt: "cannot mount on \(options.mountPoint)")
        let session = try newSession()
        let (result, diagnostics) = MountDiagnostics.capturing {
            fuse_session_mount(session, options.mountPoint)
        }
        guard result == 0 else {
            fuse_session_destroy(session)
            throw diagnostics.error("cannot mount on \(options.mountPoint)")
        }
        let handle = SessionHandle(session: session)
        let isComplete = apus_session_complete_init(session, server.lender.isWanted ? 1 : 0) != 0
        server.lender.attach(handle, isNegotiated: isComplete)
        server.mapsUncachedFiles.store(
            isComplete && KernelRelease.running.mapsUncachedFiles, ordering: .relaxed)
        state.withLock { $0 = .mounted(handle) }
        logger.info(
            "mounted",
            metadata: ["mountPoint": "\(options.mountPoint)", "source": "\(options.source)"])
    }

    /// Answers requests on this thread and others until the mount is gone.
    ///
    /// On return every request is answered, no task is left, and the mount point is free. Call
    /// once, after ``mount()``.
    package func run() throws(MountError) {
        guard case .mounted(let handle) = state.withLock({ $0 }) else {
            preconditionFailure("mount() comes first")
        }
        notifier.attach(handle)
        let result = loop.run(handle, threadsMax: options.threadsMax)
        tasks.stop()
        syncs.stop()
        notifier.detach()
        tasks.drain()
        syncs.drain()
        handle.end()
        state.withLock { $0 = .ended }
        logger.info("unmounted", metadata: ["mountPoint": "\(options.mountPoint)"])
        guard result == 0 else {
            throw MountError(
                .refused, "cannot serve \(options.mountPoint)",
                reason: String(cString: strerror(abs(result))))
        }
    }

    /// Ends ``run()`` even if the mount is in use: requests that wait for the network are
    /// interrupted, later ones fail.
    ///
    /// Bytes written through `mmap` that the kernel has not written back are lost; ``unmount()``
    /// keeps them. Blocks briefly; must not be called on FUSE threads or the executors.
    package func stop() {
        tasks.stop()
        // While requests are still answered, as a notification may wait for them in the kernel.
        notifier.detach()
        loop.stop()
    }

    /// Unmounts if the mount is not in use; ``run()`` then returns.
    ///
    /// Blocks while the kernel writes back its cache; must not be called on FUSE threads or the
    /// executors.
    ///
    /// - Parameter isPatient: Whether to try again for a moment while it is in use.
    /// - Throws: `.busy` if it is in use.
    package func unmount(isPatient: Bool = true) throws(MountError) {
        guard case .mounted = state.withLock({ $0 }) else { return }
        try Mount.unmount(options.mountPoint, isPatient: isPatient)
        // A copy of the mount in another mount namespace, such as a container's, would keep the
        // session alive, and the daemon busy, as long as that namespace exists.
        stop()
    }

    private func newSession() throws(MountError) -> OpaquePointer {
        // The server outlives the session, as both are owned by this object.
        let userdata = Unmanaged.passUnretained(server).toOpaque()
        let (session, lines) = LibfuseLog.shared.capturing {
            var operations = fuse_lowlevel_ops.serving
            return withCStrings(["apus", "-o", options.libfuseOptions]) { words in
                var words = words
                return words.withUnsafeMutableBufferPointer { words in
                    // libfuse makes its own copy. The list ends with a null pointer.
                    var arguments = fuse_args(
                        argc: CInt(words.count - 1), argv: words.baseAddress, allocated: 0)
                    defer { fuse_opt_free_args(&arguments) }
                    return apus_session_new(&arguments, &operations, userdata)
                }
            }
        }
        guard let session else {
            throw MountError(
                .refused, "cannot mount on \(options.mountPoint)",
                reason: lines.last ?? "libfuse reported no reason")
        }
        return session
    }
}
