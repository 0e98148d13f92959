import CFuse
package import Engine
import Glibc
package import Logging
import Synchronization

/// One mount: from the empty directory to the last answer.
///
/// ``mount()``, then ``run()`` on a thread that may block, which returns after ``unmount()``,
/// ``stop()``, or an unmount by somebody else. libfuse's signal handlers stay uninstalled: signals
/// are the command's business.
package final class FuseSession: Sendable {
    /// Makes the mount's type `fuse.apus`.
    static let subtype = "apus"

    /// libfuse's session, owned by this object, destroyed once at the end of ``run()``.
    private struct Handle: @unchecked Sendable {  // sound: libfuse's sessions are thread-safe
        let session: OpaquePointer
    }

    private enum State {
        case idle
        case mounted(Handle)
        case ended
    }

    private let options: MountOptions
    private let notifier: KernelNotifier
    private let server: RequestServer
    private let tasks: RequestTasks
    private let logger: Logger
    private let loop = LoopThread()
    private let state = Mutex(State.idle)

    /// - Parameters:
    ///   - engine: Its kernel cache is this session's from here on.
    ///   - executor: The engine's, for requests that wait for the network.
    package init(
        engine: Engine, options: MountOptions,
        executor: any TaskExecutor, logger: Logger
    ) {
        self.options = options
        notifier = KernelNotifier(logger: logger)
        self.logger = logger
        tasks = RequestTasks(slots: options.waitingRequestsMax, executor: executor)
        server = RequestServer(engine: engine, tasks: tasks, options: options, logger: logger)
        engine.attach(notifier)
    }

    deinit {
        // Mounted and never run: nobody would answer.
        if case .mounted(let handle) = state.withLock({ $0 }) {
            fuse_session_unmount(handle.session)
            fuse_session_destroy(handle.session)
        }
    }

    /// Mounts. Requests wait for ``run()`` from here on.
    ///
    /// Called once.
    package func mount() throws(MountError) {
        LibfuseLog.shared.use(logger)
        try Prerequisites.check(options, attempt: "cannot mount on \(options.mountPoint)")
        let session = try newSession()
        let (result, complaints) = LibfuseComplaints.capturing {
            fuse_session_mount(session, options.mountPoint)
        }
        guard result == 0 else {
            fuse_session_destroy(session)
            throw complaints.error("cannot mount on \(options.mountPoint)")
        }
        state.withLock { $0 = .mounted(Handle(session: session)) }
        logger.info(
            "mounted",
            metadata: ["mountPoint": "\(options.mountPoint)", "source": "\(options.source)"])
    }

    /// Answers requests until the mount is gone, on this thread and others.
    ///
    /// On return no request is open, no task is left, and the mount point is free. Called once,
    /// after ``mount()``.
    package func run() throws(MountError) {
        guard case .mounted(let handle) = state.withLock({ $0 }) else {
            preconditionFailure("mount() comes first")
        }
        notifier.attach(handle.session)
        let result = loop.run(handle.session, threadsMax: options.threadsMax)
        tasks.stop()
        notifier.detach()
        tasks.drain()
        end(handle)
        logger.info("unmounted", metadata: ["mountPoint": "\(options.mountPoint)"])
        guard result == 0 else {
            throw MountError(
                .refused, "cannot serve \(options.mountPoint)",
                reason: String(cString: strerror(abs(result))))
        }
    }

    /// Ends ``run()`` although the mount may be in use: requests that wait for the network are
    /// interrupted, later ones fail.
    ///
    /// Bytes that programs wrote through `mmap` and the kernel still holds are lost; ``unmount()``
    /// keeps them. Blocks shortly; not for FUSE threads and the engine's executor.
    package func stop() {
        tasks.stop()
        // While requests are still answered, as the kernel may wait for them in a notification.
        notifier.detach()
        loop.stop()
    }

    /// Unmounts if nobody uses the mount; ``run()`` then returns.
    ///
    /// Blocks while the kernel writes back what it holds; not for FUSE threads and the engine's
    /// executor.
    ///
    /// - Throws: `.busy` if it is in use.
    package func unmount() throws(MountError) {
        guard case .mounted = state.withLock({ $0 }) else { return }
        try Mount.unmount(options.mountPoint)
        // Another mount namespace, such as a container's, may have a copy of the mount, which would
        // keep it alive, and the daemon busy with it, for as long as that namespace lives.
        stop()
    }

    private func end(_ handle: Handle) {
        fuse_session_unmount(handle.session)
        fuse_session_destroy(handle.session)
        state.withLock { $0 = .ended }
    }

    private func newSession() throws(MountError) -> OpaquePointer {
        // The server outlives the session: both end with this object at the latest.
        let userdata = Unmanaged.passUnretained(server).toOpaque()
        let (session, lines) = LibfuseLog.shared.capturing {
            var words = ["apus", "-o", options.libfuseOptions].map { (word: String) in strdup(word)
            }
            defer { for word in words { free(word) } }
            var operations = fuse_lowlevel_ops.serving
            return words.withUnsafeMutableBufferPointer { words in
                // libfuse goes on with a copy of its own.
                var arguments = fuse_args(
                    argc: CInt(words.count), argv: words.baseAddress, allocated: 0)
                defer { fuse_opt_free_args(&arguments) }
                return apus_session_new(&arguments, &operations, userdata)
            }
        }
        guard let session else {
            throw MountError(
                .refused, "cannot mount on \(options.mountPoint)",
                reason: lines.last ?? "libfuse gives no reason")
        }
        return session
    }
}
