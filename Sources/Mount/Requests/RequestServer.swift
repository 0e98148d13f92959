import CFuse
import Engine
import Logging

/// Answers the kernel's requests: asks the engine, and replies.
///
/// On libfuse's threads an operation is answered from local state. One that needs the network is
/// copied out of the callback and goes on as a task that carries the reply; a kernel INTERRUPT
/// cancels it.
final class RequestServer: Sendable {
    let engine: Engine
    let tasks: RequestTasks
    let timeouts: CacheTimeouts
    let readAhead: ReadAhead
    let cachesSymlinks: Bool
    let logger: Logger
    /// Looked up once, so that requests that nobody traces pay one branch.
    private let traces: Bool

    init(
        engine: Engine, tasks: RequestTasks, options: MountOptions, logger: Logger
    ) {
        self.engine = engine
        self.tasks = tasks
        self.timeouts = options.timeouts
        self.readAhead = ReadAhead(bytes: options.readAheadBytes, mountPoint: options.mountPoint)
        self.cachesSymlinks = options.cachesSymlinks
        self.logger = logger
        self.traces = logger.logLevel <= .trace
    }

    /// The server of the session that a request came in on.
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

    /// Runs `operation` and hands its value to `answer`, both perhaps later on another thread.
    ///
    /// - Parameters:
    ///   - name: The request's name, for the log.
    ///   - operation: Called again after what it needs was fetched.
    func serve<Value: Sendable>(
        _ name: StaticString, _ inode: InodeNumber, _ reply: consuming Reply,
        _ operation: @escaping @Sendable () throws(Halt) -> Value,
        answer: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        trace(name, inode)
        switch Result(catching: operation) {
        case .success(let value): answer(reply, value)
        case .failure(.failure(let error)): fail(name, inode, reply, error)
        case .failure(.awaits): finishLater(name, inode, reply, operation, answer: answer)
        }
    }

    /// Goes on with a request that needs the network as a task.
    func finishLater<Value: Sendable>(
        _ name: StaticString, _ inode: InodeNumber, _ reply: consuming Reply,
        _ operation: @escaping @Sendable () throws(Halt) -> Value,
        answer: @escaping @Sendable (consuming Reply, Value) -> Void
    ) {
        guard let ticket = tasks.admit() else {
            reply.fail(ENOTCONN)
            return
        }
        reply.onInterrupt(cancel: ticket)
        let slot = ReplySlot(reply)
        tasks.start(ticket) { [self] in
            let outcome = await completing(operation)
            guard let reply = slot.take() else { return }
            switch outcome {
            case .success(let value): answer(reply, value)
            case .failure(let error): fail(name, inode, reply, error)
            }
        }
    }

    private func completing<Value: Sendable>(
        _ operation: @Sendable () throws(Halt) -> Value
    ) async -> Result<Value, EngineError> {
        do throws(EngineError) {
            return .success(try await engine.completing(operation))
        } catch {
            return .failure(error)
        }
    }

    /// Answers with a failure, and logs it if a user must know.
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
        guard traces else { return }
        logger.trace("request", metadata: ["request": "\(name)", "inode": "\(inode)"])
    }
}

extension InodeNumber {
    /// - Parameter inode: As the kernel names it; it only knows numbers that it was told.
    init(_ inode: fuse_ino_t) {
        self.init(rawValue: Int64(bitPattern: UInt64(inode)))
    }
}
