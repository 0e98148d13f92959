import Logging
import Synchronization

/// Notices when the remote stops to answer, and when it is back.
///
/// A failed call, or silence during one, starts probes. If they fail too, the remote is lost, and after
/// ``Reachability/doubtTime`` out of reach. Then reads and queries in flight are ended, later ones fail
/// at once, and the probes go on. Listings in flight end once the outage is certain.
final class OutageWatch: Sendable {
    private let deadlines: Deadlines
    private let schedule = Mutex(ProbeSchedule())
    private let declared = Mutex<OutageStage?>(nil)
    /// The number of listings in flight.
    private let listings = Mutex(0)
    /// Whether the last probe was late.
    private let wasLate = Mutex(false)
    /// Notified when ``RemoteGate/watchReachability()`` may have something to do.
    let signal = Signal()
    /// Notified when the remote answers again.
    let recoveries = Signal()
    /// Notified when the network of this machine has changed: the gateway of the former one may have
    /// refused the credentials.
    let networkChanges = Signal()

    init(deadlines: Deadlines) {
        self.deadlines = deadlines
    }

    /// Notes the start of a call.
    func begin(_ call: ProviderCall, at now: Duration) {
        if case .list = call { listings.withLock { $0 += 1 } }
        if schedule.withLock({ $0.begin(at: now) }) { signal.notify() }
    }

    func end(_ call: ProviderCall) {
        if case .list = call { listings.withLock { $0 -= 1 } }
        schedule.withLock { $0.end() }
    }

    func noteSign(at now: Duration) {
        schedule.withLock { $0.noteSign(at: now) }
    }

    /// Notes that an upload has progressed.
    func noteUpload(_ bytes: UInt64, begunAt begin: Duration, at now: Duration) {
        schedule.withLock { $0.noteUpload(bytes, begunAt: begin, at: now) }
    }

    /// Ends calls in flight, once for each stage of an outage.
    ///
    /// - Returns: Whether this is a new outage.
    fileprivate func declare(_ stage: OutageStage?) -> Bool {
        let former = declared.withLock { declared in
            defer { declared = stage }
            return declared
        }
        guard let stage, former.map({ $0 < stage }) ?? true else { return false }
        deadlines.endForOutage(stage)
        return former == nil
    }

    fileprivate func next(_ state: Reachability, at now: Duration) -> ProbeSchedule.Action {
        // Refused credentials have probes of their own.
        if state.isUnauthorized { return .wait(until: nil) }
        return schedule.withLock { $0.next(lostAt: state.lostAt, at: now) }
    }

    fileprivate func limit(of probe: ProbeSchedule.Probe) -> Duration {
        schedule.withLock { $0.limit(of: probe) }
    }

    /// Has a lost remote probed at once.
    ///
    /// - Returns: See ``ProbeSchedule/hasten(at:)``.
    fileprivate func hasten(at now: Duration) -> Bool {
        let isLate = schedule.withLock { $0.hasten(at: now) }
        signal.notify()
        return isLate
    }

    fileprivate var isListing: Bool { listings.withLock { $0 > 0 } }

    /// Whether a probe must not wait for an idle connection, which may be dead.
    fileprivate func needsFreshConnection(_ probe: ProbeSchedule.Probe) -> Bool {
        probe == .patient || wasLate.withLock { $0 }
    }

    fileprivate func hasSign(since start: Duration) -> Bool {
        schedule.withLock { $0.hasSign(since: start) }
    }

    fileprivate func noteEnd(
        of probe: ProbeSchedule.Probe, isAnswered: Bool, isLate: Bool, at now: Duration
    ) {
        wasLate.withLock { $0 = isLate }
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
    /// - Throws: `.unreachable` while the remote is out of reach. A listing that has begun continues
    ///   until the outage is certain.
    func requireReach(for call: ProviderCall) throws(ProviderError) {
        let state = reachability.withLock { $0 }
        guard let stage = state.outage(at: clock.uptime) else { return }
        if case .list(_, isFirst: false) = call, stage < .confirmed { return }
        throw ProviderError(
            .unreachable, attempt: call.description,
            reason: state.reason ?? "the remote does not answer")
    }

    /// Returns once the remote is not out of reach, or the task is cancelled.
    func awaitReach() async {
        await awaitRecovery { [clock] in $0.isOutOfReach(at: clock.uptime) }
    }

    /// Returns once the remote is not out of reach and accepts the credentials, or the task is cancelled.
    func awaitService() async {
        await awaitRecovery { [clock] in $0.isUnauthorized || $0.isOutOfReach(at: clock.uptime) }
    }

    private func awaitRecovery(from isLost: (Reachability) -> Bool) async {
        while !Task.isCancelled {
            let notifications = outage.recoveries.notifications
            guard isLost(reachability.withLock { $0 }) else { return }
            await outage.recoveries.wait(after: notifications)
        }
    }

    /// Has a lost remote, and refused credentials, probed at once, as the network of this machine has
    /// changed.
    func noteNetworkChange() {
        _ = outage.hasten(at: clock.uptime)
        outage.networkChanges.notify()
    }

    /// Probes a lost remote at once, as a person asks for it. After a long outage this waits shortly for
    /// the answer.
    func probeLost() async {
        let (now, notifications) = (clock.uptime, outage.recoveries.notifications)
        guard outage.hasten(at: now) else { return }
        await outage.recoveries.wait(
            after: notifications, until: now + ProbeSchedule.quickMax, on: clock)
    }

    /// Probes the remote while it is silent or lost, until the calling task is cancelled.
    func watchReachability() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = outage.signal.notifications
                let now = clock.uptime
                let (state, stage) = reachability.withLock { state in
                    let stage = state.check(at: now)
                    return (state, stage)
                }
                if outage.declare(stage) {
                    logger.warning(
                        "remote out of reach: requests fail at once",
                        metadata: ["reason": "\(state.reason ?? "-")"])
                    agenda.changes.notify()
                }
                switch outage.next(state, at: now) {
                case .probe(let probe): group.addTask { await self.perform(probe) }
                case .wait(let until):
                    let doubtEnd = state.doubtEnd.flatMap { $0 > now ? $0 : nil }
                    if let wake = [until, doubtEnd].compactMap(\.self).min() {
                        await outage.signal.wait(after: notifications, until: wake, on: clock)
                    } else {
                        await outage.signal.wait(after: notifications)
                    }
                }
            }
            group.cancelAll()
        }
    }

    private func perform(_ probe: ProbeSchedule.Probe) async {
        let (start, limit) = (clock.uptime, outage.limit(of: probe))
        let isFresh = outage.needsFreshConnection(probe)
        let (error, isLate) = await outage.limiting(to: start + limit) {
            await self.probe(isFresh: isFresh)
        }
        let end = clock.uptime
        let isAnswered = error?.isAnswerToProbe ?? true
        // The remote has answered something else meanwhile, or this machine was suspended.
        if isLate && outage.hasSign(since: start)
            || !isAnswered && end - start - limit >= Reachability.delayMax
        {
            return outage.noteEnd(of: probe, isAnswered: false, isLate: false, at: end)
        }
        let failure = FailedProbe(
            probe: probe, isRefused: !isLate && end - start < ProbeSchedule.quickMax,
            isBesideListing: outage.isListing, end: end)
        if error == nil {
            noteReachable()
        } else if isAnswered {
            noteAnswer()
        } else if isLate {
            noteFailure(
                ProviderError(
                    .unreachable, attempt: "probe the remote",
                    reason: "no answer in \(limit.components.seconds) s"),
                of: failure, silentSince: max(start, end - ProbeSchedule.quickMax))
        } else if let error {
            noteFailure(error, of: failure)
        }
        outage.noteEnd(of: probe, isAnswered: isAnswered, isLate: isLate, at: end)
    }

    /// - Returns: The failure.
    private func probe(isFresh: Bool) async -> ProviderError? {
        await FreshConnection.wanted(isFresh) { () async -> ProviderError? in
            do throws(ProviderError) {
                // Bytes of a refusal must not delay an outage, so only the schedule learns of them.
                try await SignOfLife.observing({ [self] in outage.noteSign(at: clock.uptime) }) {
                    [self] () async throws(ProviderError) in try await inner.probe()
                }
                return nil
            } catch {
                return error
            }
        }
    }
}

extension ProviderError {
    /// Whether it shows that the store answers a probe, which no provider refuses by itself.
    fileprivate var isAnswerToProbe: Bool {
        isAnswer || kind == .wrongKind || kind == .unsupported
    }

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

    func confirm(_ range: Range<UInt64>) { sink.confirm(range) }
}

/// Reports when the store has more bytes than before.
final class ObservedUpload: UploadSession {
    private let session: any UploadSession
    private let gate: RemoteGate
    private let state = Mutex((sent: UInt64(0), begin: nil as Duration?))

    init(session: any UploadSession, gate: RemoteGate) {
        self.session = session
        self.gate = gate
    }

    var token: UploadToken? { session.token }
    var nonce: WriteNonce? { session.nonce }

    func keep(_ token: UploadToken?) throws {
        try session.keep(token)
    }

    func expect(_ etag: ETag) throws {
        try session.expect(etag)
    }

    func keepProof() async throws {
        try await session.keepProof()
    }

    func noteSent(_ bytes: UInt64) {
        let now = gate.clock.uptime
        let begin = state.withLock { state -> Duration? in
            guard bytes > state.sent else { return nil }
            state = (bytes, state.begin ?? now)
            return state.begin
        }
        if let begin { gate.noteUpload(bytes, begunAt: begin, at: now) }
        session.noteSent(bytes)
    }
}
