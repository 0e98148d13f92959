import Logging
import Synchronization

/// The only way to the provider: sets deadlines, finds out whether the remote answers, and pauses
/// synchronisation while it refuses the credentials.
///
/// While the remote is out of reach, calls that change nothing fail at once; see ``OutageWatch``.
final class RemoteGate: ProviderWrapper {
    let inner: any Provider
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let agenda: Agenda
    /// Notified when the credentials are accepted again.
    let resumes: [Signal]
    let reachability = Mutex<Reachability>(Reachability())
    /// Notified when the remote has refused the credentials.
    let pauseBell = Signal()
    /// Inodes whose request was refused for its credentials and has not been retried.
    let refusals = Mutex<Set<InodeNumber>>([])
    let departure: ShutdownGrace
    let outage: OutageWatch
    private let knownSpace = Mutex<StorageSpace?>(nil)

    init(
        _ provider: any Provider, grace: Duration, clock: any Clock, deadlines: Deadlines,
        logger: Logger, random: @escaping @Sendable () -> UInt64, agenda: Agenda, resumes: [Signal]
    ) {
        self.clock = clock
        self.logger = logger
        self.random = random
        self.agenda = agenda
        self.resumes = resumes
        outage = OutageWatch(deadlines: deadlines)
        departure = ShutdownGrace(
            grace: grace, clock: clock, deadlines: deadlines, logger: logger)
        inner = DeadlineProvider(inner: provider, departure: departure)
    }

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        if call.isLook { try requireReach(for: call) }
        let begin = clock.uptime
        outage.begin(call, at: begin)
        defer { outage.end(call) }
        do throws(ProviderError) {
            let outer = SignOfLife.note
            let value = try await SignOfLife.observing(
                { [self] in
                    noteSign(begunAt: begin)
                    outer?()
                }, request)
            noteReachable()
            return value
        } catch {
            let error = error.during(call)
            noteFailure(error)
            throw error
        }
    }

    /// Arriving bytes are a sign of life during a long read.
    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let observed = ObservedSink(sink: sink) { [self] in noteAnswer() }
        try await around(.read(key)) {
            [inner] () async throws(ProviderError) in
            try await inner.read(key, range: range, etag: etag, into: observed)
        }
    }

    /// Bytes that the network accepts are a sign of life during a long upload, but not enough to
    /// end an outage.
    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let observed = ObservedUpload(session: session, gate: self)
        return try await around(.write(key)) {
            [inner] () async throws(ProviderError) in
            try await inner.write(
                key, from: source, attributes: attributes, base: base, session: observed)
        }
    }

    /// Waits for changes. The silence meanwhile does not mean that the remote is lost.
    func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        do throws(ProviderError) {
            return try await inner.changes(since: anchor)
        } catch {
            let error = error.during(.changes)
            noteFailure(error)
            throw error
        }
    }

    // MARK: Space

    /// The space of the remote; nil if it is not known.
    var remoteSpace: StorageSpace? { knownSpace.withLock { $0 } }

    func refreshSpace() async {
        do throws(ProviderError) {
            let space = try await space()
            knownSpace.withLock { $0 = space }
        } catch {
            // The last known space stays until the remote answers again.
        }
    }

    // MARK: Reachability

    var isPaused: Bool { reachability.withLock(\.isUnauthorized) }

    /// Notes that the remote has done what it was asked.
    func noteReachable() {
        let now = clock.uptime
        outage.noteSign(at: now)
        // An earlier run may have met an outage that lasted until now.
        agenda.hastenUnreachableOnce()
        let before = reachability.withLock { state in
            let before = state
            guard !before.isReachable else { return before }
            state = Reachability()
            state.outageEnd = before.isOutOfReach(at: now) ? now : before.outageEnd
            // Under the same lock as the state, so that the two always agree.
            if before.isUnauthorized { agenda.setPaused(false) }
            return before
        }
        guard !before.isReachable else { return }
        logger.info("remote reachable again")
        if before.isUnauthorized {
            for signal in resumes { signal.notify() }
        }
        if let lostAt = before.lostAt, now - lostAt >= Self.outageMin {
            agenda.hastenUnreachable()
        }
        outage.recoveries.notify()
        outage.signal.notify()
        agenda.changes.notify()
    }

    /// Notes bytes of an answer. Called on the transport's thread: it takes two locks, and no more.
    ///
    /// - Parameter begin: The start of the call. The first bytes may be the page with which a gateway
    ///   says that the store is gone, so they do not delay an outage.
    private func noteSign(begunAt begin: Duration) {
        let now = clock.uptime
        outage.noteSign(at: now)
        if now - begin >= ProbeSchedule.silenceMax {
            reachability.withLock { $0.noteSign(at: now) }
        }
    }

    /// Notes that an upload has progressed, which is a sign of life only if it takes some time.
    func noteUpload(_ bytes: UInt64, begunAt begin: Duration, at now: Duration) {
        outage.noteUpload(bytes, begunAt: begin, at: now)
        if now - begin >= ProbeSchedule.silenceMax {
            reachability.withLock { $0.noteSign(at: now) }
        }
    }

    /// Notes an answer that says nothing about the credentials: a refusal, or some bytes.
    func noteAnswer() {
        let isLost = reachability.withLock { !$0.isReachable && !$0.isUnauthorized }
        if isLost { noteReachable() } else { outage.noteSign(at: clock.uptime) }
    }

    /// Shorter outages are single requests that failed beside successful ones.
    private static var outageMin: Duration { .seconds(10) }

    /// - Parameters:
    ///   - probe: The probe that has failed; nil for another call.
    ///   - start: Since when the remote has not answered; nil if it is lost only now.
    func noteFailure(
        _ error: ProviderError, of probe: FailedProbe? = nil,
        silentSince start: Duration? = nil
    ) {
        if error.isAnswer { return noteAnswer() }
        let isUnauthorized = error.kind == .unauthorized
        guard isUnauthorized || error.kind == .unreachable else { return }
        let now = clock.wallTime
        let isNew = reachability.withLock { state in
            guard state.isReachable || (isUnauthorized && !state.isUnauthorized) else {
                state.note(probe)
                // The latest one helps most: the server may be back, and its disk not.
                if !isUnauthorized, !state.isUnauthorized { state.reason = error.reason }
                return false
            }
            let outageEnd = state.outageEnd
            state = Reachability(
                isUnauthorized: isUnauthorized, reason: error.reason, since: now,
                lostAt: state.lostAt ?? start ?? clock.uptime)
            state.outageEnd = outageEnd
            state.note(probe)
            if isUnauthorized { agenda.setPaused(true) }
            return true
        }
        guard isNew else { return }
        outage.signal.notify()
        if isUnauthorized {
            pauseBell.notify()
        } else {
            logger.warning("remote unreachable", metadata: ["reason": "\(error.reason)"])
        }
        agenda.changes.notify()
    }

    /// Probes a silent or lost remote, and refused credentials.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchCredentials() }
            group.addTask { await self.watchReachability() }
        }
    }

    /// Probes refused credentials until they are accepted: at once, because the refusal may concern
    /// a single object, then periodically.
    private func watchCredentials() async {
        while !Task.isCancelled {
            let notifications = pauseBell.notifications
            if isPaused { await probeCredentials() }
            if isPaused { await waitForCredentials() }
            await pauseBell.wait(after: notifications)
        }
    }

    private func waitForCredentials() async {
        logger.error(
            "credentials refused, synchronisation paused until they are accepted",
            metadata: ["reason": "\(reachability.withLock(\.reason) ?? "")"])
        // These inodes did not cause the refusal.
        refusals.withLock { $0 = [] }
        let first = Backoff(first: .seconds(5), longest: .seconds(60))
        var backoff = first
        while isPaused, !Task.isCancelled {
            let notifications = outage.networkChanges.notifications
            await outage.networkChanges.wait(
                after: notifications, until: clock.uptime + backoff.next(random), on: clock)
            if outage.networkChanges.notifications != notifications { backoff = first }
            await probeCredentials()
        }
    }

    /// Probes refused credentials at once, as a person asks for it.
    func probeRefusedCredentials() async {
        if isPaused { await probeCredentials() }
    }

    private func probeCredentials() async {
        do throws(ProviderError) {
            try await inner.probe()
            noteReachable()
        } catch {
            switch error.kind {
            case .unauthorized, .busy, .corrupt, .cancelled: break
            case .unreachable: noteLoss(error)
            // The credentials are accepted; the items report any other fault themselves.
            default: noteReachable()
            }
        }
    }

    /// Notes that a remote that had refused the credentials does not answer any more. It may refuse them
    /// again when it is back.
    private func noteLoss(_ error: ProviderError) {
        let (now, lostAt) = (clock.wallTime, clock.uptime)
        let isNew = reachability.withLock { state in
            guard state.isUnauthorized else { return false }
            let outageEnd = state.outageEnd
            state = Reachability(reason: error.reason, since: now, lostAt: lostAt)
            state.outageEnd = outageEnd
            agenda.setPaused(false)
            return true
        }
        guard isNew else { return }
        logger.warning("remote unreachable", metadata: ["reason": "\(error.reason)"])
        for signal in resumes + [outage.signal] { signal.notify() }
        agenda.changes.notify()
    }

    /// Whether requests should do without the remote: it is out of reach, or refuses the
    /// credentials.
    func isOutOfReach(at now: Duration) -> Bool {
        reachability.withLock { $0.isUnauthorized || $0.isOutOfReach(at: now) }
    }
}

extension Provider {
    /// Returns the object at a key; nil if there is none.
    func statIfPresent(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        do throws(ProviderError) {
            return try await stat(key)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
    }

    /// Whether the listing of its directory shows a key in just this spelling. A store that takes
    /// different names for one answers other requests for any of them.
    func lists(_ key: ObjectKey) async throws(ProviderError) -> Bool {
        guard let parent = key.parent, let name = key.names.last else { return true }
        let cursor = entries(of: parent)
        while true {
            let page = try await cursor.next()
            if page.objects.contains(where: { $0.name == name }) { return true }
            if page.isLast { return false }
        }
    }

    /// Requires the mounted folder to exist on the remote: a store that has lost everything, for
    /// example because a disk is not mounted, has not deleted anything.
    ///
    /// - Throws: `.unreachable` if the root is missing.
    func requireRoot(_ refusal: ProviderError) async throws(ProviderError) {
        guard try await statIfPresent(.root)?.kind == .directory else {
            throw ProviderError(
                .unreachable, attempt: refusal.attempt,
                reason: "the mounted folder is not on the remote", cause: refusal)
        }
    }

    /// Returns whether two etags, either of which may be missing, denote the same version.
    func isSame(_ former: ETag?, as etag: ETag?) -> Bool {
        guard let former, let etag else { return former == etag }
        return isSame(former, as: etag)
    }
}
