import CFuse
import Engine
import Logging

/// Serves kernel requests: runs each operation on the engine and sends its reply.
///
/// On libfuse's threads an operation is answered from local state. An operation that needs the
/// network is copied out of the callback and continues as a task that carries the reply; a kernel
/// INTERRUPT cancels the task.
final class RequestServer: Sendable {
    let engine: Engine
    let tasks: RequestTasks
    let timeouts: CacheTimeouts
    let readAhead: ReadAhead
    let cachesSymlinks: Bool
    private let logger: Logger
    /// Read once, so that tracing costs one branch per request while it is off.
    private let isTracing: Bool

    init(
        engine: Engine, tasks: RequestTasks, timeouts: CacheTimeouts, readAhead: ReadAhead,
        cachesSymlinks: Bool, logger: Logger
    ) {
        self.engine = engine
        self.tasks = tasks
        self.timeouts = timeouts
        self.readAhead = readAhead
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

    /// Runs `operation` and passes its value to `answer`, both possibly later on another thread.
    ///
    /// - Parameters:
    ///   - name: The request's name, for the log.
    ///   - operation: Called again once the data that it lacked has been fetched.
    func serve<Value: Sendable>(
        _ name: StaticString, _ inode: InodeNumber, _ reply: consuming Reply,
        _ operation: @escaping @Sendable () throws(Blocked) -> Value,
        answer: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        trace(name, inode)
        switch Result(catching: operation) {
        case .success(let value): answer(reply, value)
        case .failure(.failure(let error)): fail(name, inode, reply, error)
        case .failure(.awaits(let need)):
            finishLater(name, inode, reply, need, operation, answer: answer)
        }
    }

    /// Continues a request that needs the network as a task.
    ///
    /// - Parameter need: The data that `operation` has just been found to lack.
    func finishLater<Value: Sendable>(
        _ name: StaticString, _ inode: InodeNumber, _ reply: consuming Reply, _ need: MissingData,
        _ operation: @escaping @Sendable () throws(Blocked) -> Value,
        answer: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        guard let admission = tasks.admit() else {
            reply.fail(ENOTCONN)
            return
        }
        reply.onInterrupt(admission.ticket) { request, data in
            guard let request, let ticket = RequestTicket(data) else { return }
            RequestServer.serving(request).tasks.cancel(ticket)
        }
        // Another request may have fetched the same data during a wait for a slot.
        let need = admission.hasWaited ? nil : need
        let slot = ReplySlot(reply)
        tasks.start(admission.ticket) { [self] in
            let outcome = await complete(operation, startingWith: need) { [tasks] in
                tasks.cancel(admission.ticket)
            }
            guard let reply = slot.take() else { return }
            switch outcome {
            case .success(let value): answer(reply, value)
            case .failure(let error): fail(name, inode, reply, error)
            }
        }
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

    /// Answers with an error, and logs it if users should know about it.
    func fail(
        _ name: StaticString, _ inode: InodeNumber, _ reply: consuming Reply, _ error: EngineError
    ) {
        if let level = error.kind.logLevel {
            logger.log(
                level: level, "request failed",
                metadata: [
                    "request": "\(name)", "inode": "\(inode)", "attempt": "\(error.attempt)",
                    "kind": "\(error.kind)", "remedy": "\(error.remedy ?? "-")",
                    "cause": "\(error.cause.map(String.init(describing:)) ?? "-")",
                ])
        }
        reply.fail(error.kind.errno)
    }

    func trace(_ name: StaticString, _ inode: InodeNumber) {
        guard isTracing else { return }
        logger.trace("request", metadata: ["request": "\(name)", "inode": "\(inode)"])
    }
}

extension InodeNumber {
    /// - Parameter inode: A number that the kernel got from us.
    init(_ inode: fuse_ino_t) {
        self.init(rawValue: Int64(bitPattern: UInt64(inode)))
    }
}
