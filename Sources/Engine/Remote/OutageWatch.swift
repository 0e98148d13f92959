import Logging
import Synchronization

/// Notices when the remote stops to answer, and when it is back.
///
/// A failed call, or silence during one, starts probes: metadata requests for the root. If they fail
/// too, the remote is lost, and after ``Reachability/doubtTime`` out of reach. Then the calls in
/// flight that change nothing are ended, later ones fail at once, and the probes go on.
final class OutageWatch: Sendable {
    private let deadlines: Deadlines
    private let schedule = Mutex(ProbeSchedule())
    private let isDeclared = Mutex(false)
    /// Notified when ``RemoteGate/watchReachability()`` may have something to do.
    let signal = Signal()
    /// Notified when the remote answers again.
    let recoveries = Signal()

    init(deadlines: Deadlines) {
        self.deadlines = deadlines
    }

    /// Notes the start of a call.
    func begin(at now: Duration) {
        if schedule.withLock({ $0.begin(at: now) }) { signal.notify() }
    }

    func end() {
        schedule.withLock { $0.end() }
    }

    func noteSign(at now: Duration) {
        schedule.withLock { $0.noteSign(at: now) }
    }

    fileprivate var silentSince: Duration? { schedule.withLock(\.silentSince) }

    /// Ends the calls in flight, once for each outage.
    ///
    /// - Returns: Whether this is a new outage.
    fileprivate func declare(_ isOutOfReach: Bool) -> Bool {
        let isNew = isDeclared.withLock { isDeclared in
            defer { isDeclared = isOutOfReach }
            return isOutOfReach && !isDeclared
        }
        if isNew { deadlines.endForOutage() }
        return isNew
    }

    fileprivate func next(_ state: Reachability, at now: Duration) -> ProbeSchedule.Action {
        // Refused credentials have probes of their own.
        if state.isUnauthorized { return .wait(until: nil) }
        return schedule.withLock { $0.next(lostAt: state.lostAt, at: now) }
    }

    fileprivate func limit(of probe: ProbeSchedule.Probe) -> Duration {
        schedule.withLock { $0.limit(of: probe) }
    }

    fileprivate func hasSign(since start: Duration) -> Bool {
        schedule.withLock { $0.hasSign(since: start) }
    }

    fileprivate func noteEnd(
        of probe: ProbeSchedule.Probe, isAnswered: Bool, isLate: Bool, at now: Duration
    ) {
        schedule.withLock {
            $0.noteEnd(of: probe, isAnswered: isAnswered, isLate: isLate, at: now)
        }
        signal.notify()
    }

    fileprivate func limiting<Value: Sendable>(
        to instant: Duration, _ work: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        await deadlines.limitingTask(to: instant, work)
    }
}

extension RemoteGate {
    /// - Throws: `.unreachable` while the remote is out of reach.
    func requireReach(for call: ProviderCall) throws(ProviderError) {
        let state = reachability.withLock { $0 }
        guard state.isOutOfReach(at: clock.uptime) else { return }
        throw ProviderError(
            .unreachable, attempt: call.description,
            reason: state.reason ?? "the remote does not answer")
    }

    /// Returns once the remote is not out of reach, or the task is cancelled.
    func awaitReach() async {
        while !Task.isCancelled {
            let notifications = outage.recoveries.notifications
            let state = reachability.withLock { $0 }
            guard state.isOutOfReach(at: clock.uptime) else { return }
            await outage.recoveries.wait(after: notifications)
        }
    }

    /// Probes the remote while it is silent or lost, until the calling task is cancelled.
    func watchReachability() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = outage.signal.notifications
                let (state, now) = (reachability.withLock { $0 }, clock.uptime)
                if outage.declare(state.isOutOfReach(at: now)) {
                    logger.warning(
                        "remote out of reach: requests fail at once",
                        metadata: ["reason": "\(state.reason ?? "-")"])
                    agenda.changes.notify()
                }
                switch outage.next(state, at: now) {
                case .probe(let probe): group.addTask { await self.perform(probe) }
                case .wait(let until?):
                    await outage.signal.wait(after: notifications, until: until, on: clock)
                case .wait(nil): await outage.signal.wait(after: notifications)
                }
            }
            group.cancelAll()
        }
    }

    private func perform(_ probe: ProbeSchedule.Probe) async {
        let (start, limit) = (clock.uptime, outage.limit(of: probe))
        let (error, isLate) = await outage.limiting(to: start + limit) {
            [inner] () -> ProviderError? in
            do throws(ProviderError) {
                _ = try await inner.stat(.root)
                return nil
            } catch {
                return error
            }
        }
        if isLate, outage.hasSign(since: start) {
            // The remote has answered something else meanwhile.
            return outage.noteEnd(of: probe, isAnswered: false, isLate: false, at: clock.uptime)
        }
        let silentSince = outage.silentSince
        let isAnswered = error?.isAnswer ?? true
        if error == nil {
            noteReachable()
        } else if isLate {
            noteFailure(
                ProviderError(
                    .unreachable, attempt: "probe the remote",
                    reason: "no answer in \(limit.components.seconds) s"),
                duringProbe: true, silentSince: silentSince)
        } else if let error {
            noteFailure(error, duringProbe: true, silentSince: silentSince)
        }
        outage.noteEnd(of: probe, isAnswered: isAnswered, isLate: isLate, at: clock.uptime)
    }
}

extension ProviderError {
    /// Whether it shows that the store answers, and accepts the credentials or did not need them.
    var isAnswer: Bool {
        switch kind {
        case .changed, .missing, .exists, .notEmpty, .busy, .denied, .full: true
        case .wrongKind, .unsupported, .unreachable, .corrupt, .unauthorized, .sink, .source,
            .cancelled:
            false
        }
    }
}

/// Reports each arriving piece.
struct ObservedSink: ByteSink {
    let sink: any ByteSink
    let observe: @Sendable () -> Void

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        observe()
        try sink.write(bytes, at: offset)
    }
}

/// Reports when the store has more bytes than before.
final class ObservedUpload: UploadSession {
    private let session: any UploadSession
    private let observe: @Sendable () -> Void
    private let sent = Mutex<UInt64>(0)

    init(session: any UploadSession, observe: @escaping @Sendable () -> Void) {
        self.session = session
        self.observe = observe
    }

    var token: UploadToken? { session.token }

    func keep(_ token: UploadToken?) throws {
        try session.keep(token)
    }

    func noteSent(_ bytes: UInt64) {
        let isMore = sent.withLock { sent in
            defer { sent = max(sent, bytes) }
            return bytes > sent
        }
        if isMore { observe() }
        session.noteSent(bytes)
    }
}
