import CFuse
import Engine
import Logging
import Meters
import Synchronization

/// One request of the kernel, until it is answered.
///
/// On libfuse's threads an operation is answered from local state. An operation that needs the
/// network is copied out of the callback and continues as a task that carries the request; a kernel
/// INTERRUPT cancels the task.
struct Request: ~Copyable {
    let server: RequestServer
    let kind: RequestKind
    /// The inode that it is about; for an operation on a name, the directory.
    let inode: InodeNumber
    /// The second directory of a rename.
    var otherDirectory: InodeNumber?
    /// Before it reads the engine's state for the answer.
    var begin: AnswerLedger.Moment
    let reply: Reply
    private let timer: RequestTimer

    /// Takes over the obligation to answer `request`.
    init(_ request: fuse_req_t?, _ kind: RequestKind, _ inode: fuse_ino_t) {
        guard let request else { preconditionFailure("every callback gets its request") }
        server = RequestServer.serving(request)
        self.kind = kind
        timer = RequestTimer(server.meter.durations(kind))
        self.inode = InodeNumber(inode)
        begin = server.notifier.moment
        reply = Reply(request)
    }

    /// Runs `operation` and passes its value to `answer`, both possibly later on another thread.
    ///
    /// - Parameter operation: Called again once the data that it lacked has been fetched.
    consuming func serve<Value: Sendable>(
        _ operation: @escaping @Sendable (Engine, InodeNumber) throws(Blocked) -> Value,
        answer: @escaping @Sendable (consuming Request, Value) -> Void
    ) {
        trace()
        let (engine, inode) = (server.engine, inode)
        let run = { @Sendable () throws(Blocked) in try operation(engine, inode) }
        switch Result(catching: run) {
        case .success(let value): answer(self, value)
        case .failure(.failure(let error)): fail(error)
        case .failure(.awaits(let need)): finishLater(need, run, answer: answer)
        }
    }

    /// Runs `operation`, and answers that it succeeded.
    consuming func serve(
        _ operation: @escaping @Sendable (Engine, InodeNumber) throws(Blocked) -> Void
    ) {
        serve(operation) { request, _ in request.reply.succeed() }
    }

    /// Runs `operation`, and answers as to a lookup of the inode with these attributes.
    ///
    /// - Parameter name: The name of the inode in the request's directory; nil for `.` and `..`.
    consuming func serveEntry(
        _ name: FileName?,
        _ operation: @escaping @Sendable (Engine, InodeNumber) throws(Blocked) -> Attributes
    ) {
        serve(operation) { request, attributes in
            let entry = attributes.entry(request.server.form)
            request.answer(name, attributes) { reply in reply.entry(entry) }
        }
    }

    /// Answers with a name of the request's directory, or its absence, and with attributes.
    consuming func answer(
        _ name: FileName?, _ attributes: Attributes?, _ body: (consuming Reply) -> Void
    ) {
        var items: [InvalidationQueue.Item] = []
        if let name { items.append(.name(name, parent: inode)) }
        if let attributes { items.append(.attributes(attributes.inode)) }
        answer(items, body)
    }

    /// Sends an answer that the kernel may cache.
    ///
    /// - Parameter items: The parts of it that a change may concern.
    consuming func answer(
        _ items: [InvalidationQueue.Item], _ body: (consuming Reply) -> Void
    ) {
        let (notifier, begin) = (server.notifier, begin)
        body(reply)
        notifier.noteAnswer(items, since: begin)
    }

    /// Continues a request that needs the network as a task.
    ///
    /// - Parameter need: The data that `operation` has just been found to lack.
    consuming func finishLater<Value: Sendable>(
        _ need: MissingData, _ operation: @escaping @Sendable () throws(Blocked) -> Value,
        answer: @escaping @Sendable (consuming Request, Value) -> Void
    ) {
        let server = server
        let ticket: RequestTicket
        switch server.tasks.admit() {
        case .admitted(let admitted): ticket = admitted
        case .full:
            server.logger.warning(
                "request refused: too many wait for the remote",
                metadata: ["request": "\(kind.name)"])
            reply.fail(EAGAIN)
            return
        case .stopped:
            reply.fail(ENOTCONN)
            return
        }
        reply.onInterrupt(ticket) { request, data in
            guard let request, let ticket = RequestTicket(data) else { return }
            RequestServer.serving(request).tasks.cancel(ticket)
        }
        // The kernel holds locks of the inode until the answer.
        let wait = server.notifier.begin(waitingAt: [inode] + [otherDirectory].compactMap(\.self))
        let slot = RequestSlot(self)
        let begin = Mutex(AnswerLedger.Moment())
        server.tasks.start(ticket) {
            let repeated = { @Sendable () throws(Blocked) in
                // Changes made while it waited are part of the answer.
                begin.withLock { $0 = server.notifier.moment }
                return try operation()
            }
            let outcome = await server.complete(repeated, startingWith: need) {
                server.tasks.cancel(ticket)
            }
            defer { server.notifier.end(wait) }
            guard var request = slot.take() else { return }
            request.begin = begin.withLock(\.self)
            switch outcome {
            case .success(let value): answer(request, value)
            case .failure(let error): request.fail(error)
            }
        }
    }

    /// Answers with an error, and logs it if users should know about it.
    consuming func fail(_ error: EngineError) {
        server.meter.note(error.kind)
        if let level = error.kind.logLevel {
            var metadata: Logger.Metadata = ["request": "\(kind.name)", "inode": "\(inode)"]
            metadata["remedy"] = error.remedy.map { "\($0)" }
            metadata["cause"] = error.cause.map { "\($0)" }
            server.logger.log(level: level, "\(error)", metadata: metadata)
        }
        reply.fail(error.kind.errno)
    }

    borrowing func trace() {
        guard server.isTracing else { return }
        server.logger.trace("request", metadata: ["request": "\(kind.name)", "inode": "\(inode)"])
    }
}

/// Carries a ``Request`` into a task: one slot, emptied once.
final class RequestSlot: Sendable {
    private let slot: Mutex<Request?>

    init(_ request: consuming Request) {
        slot = Mutex(request)
    }

    /// - Returns: nil from the second call on.
    func take() -> Request? {
        slot.withLock { $0.take() }
    }
}

extension InodeNumber {
    /// - Parameter inode: A number that the kernel got from us.
    init(_ inode: fuse_ino_t) {
        self.init(rawValue: Int64(bitPattern: UInt64(inode)))
    }
}
