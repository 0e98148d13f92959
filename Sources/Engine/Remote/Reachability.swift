/// Whether the remote answered the last request.
package struct Reachability: Hashable, Sendable {
    package var isReachable = true
    /// Whether the remote answers but rejects our credentials; synchronisation is then paused.
    package var isUnauthorized = false
    /// The store's error text, while it does not answer.
    package var reason: String?
    package var since: Timestamp?
    /// ``since`` by the monotonic clock; the start of the probe if that was not answered.
    var lostAt: Duration?
    /// The last bytes of the remote since then.
    var lastSign: Duration?
    /// The kind of probe whose failures since then show an outage; patient only if that is certain.
    var failedProbe: ProbeSchedule.Probe?
    /// The end of the first of them.
    private(set) var failedAt: Duration?
    /// When a patient probe was first refused since then.
    private(set) var refusedAt: Duration?
    /// Whether the outage was noticed when it began.
    private(set) var isDeclared = false
    /// The end of the last time out of reach, by the monotonic clock.
    var outageEnd: Duration?

    /// How long the remote must be lost before it counts as out of reach: a connection that broke a
    /// moment ago, or a server that is restarting, is not an outage. Requests wait for as long, and at
    /// least until a probe has failed too. A probe that succeeds shows that only this request fails,
    /// which is then retried for longer.
    static var doubtTime: Duration { .seconds(5) }
    /// How late an outage can be noticed, unless this machine was suspended meanwhile.
    static var delayMax: Duration { .seconds(10) }
    /// How long the remote must be silent until a listing in flight ends: a store with one connection
    /// answers nothing else meanwhile.
    static var listingMax: Duration { .seconds(600) }

    init() {}

    /// A remote that is lost, or refuses the credentials.
    init(isUnauthorized: Bool = false, reason: String?, since: Timestamp?, lostAt: Duration) {
        isReachable = false
        self.isUnauthorized = isUnauthorized
        self.reason = reason
        self.since = since
        self.lostAt = lostAt
    }

    /// Whether the remote has answered nothing for ``doubtTime``, and a probe has failed in that time.
    package func isOutOfReach(at now: Duration) -> Bool { outage(at: now) != nil }

    /// Returns the stage of the outage; nil if there is none.
    func outage(at now: Duration) -> OutageStage? {
        guard let failedProbe, let outageStart, outageStart <= now, !wasSuspended(at: now) else {
            return nil
        }
        return failedProbe == .patient ? .confirmed : .outOfReach
    }

    /// The earliest time at which the lost remote is out of reach.
    var doubtEnd: Duration? { lostAt.map { max($0, lastSign ?? $0) + Self.doubtTime } }

    private var outageStart: Duration? {
        guard !isReachable, !isUnauthorized, failedProbe != nil, let doubtEnd else { return nil }
        return max(doubtEnd, failedAt ?? doubtEnd)
    }

    /// Whether this machine was suspended before it could notice the outage.
    private func wasSuspended(at now: Duration) -> Bool {
        guard !isDeclared, let outageStart else { return false }
        return now - outageStart >= Self.delayMax
    }

    /// Returns when requests give up the lost remote; nil if no probe has failed yet.
    func patienceEnd(at now: Duration) -> Duration? {
        failedProbe == nil || wasSuspended(at: now) ? nil : doubtEnd
    }

    /// Notices an outage. After a suspension the remote is lost only from now on: the network of this
    /// machine needs some time too.
    mutating func check(at now: Duration) -> OutageStage? {
        if wasSuspended(at: now) {
            lostAt = now
            (lastSign, failedProbe, failedAt, refusedAt) = (nil, nil, nil, nil)
        }
        let stage = outage(at: now)
        isDeclared = stage != nil
        return stage
    }

    /// Notes arriving bytes: they delay an outage, and do not end one.
    mutating func noteSign(at now: Duration) {
        if !isReachable, outage(at: now) == nil { lastSign = now }
    }

    /// Notes a failure while the remote is lost.
    mutating func note(_ failure: FailedProbe?) {
        guard let failure, failedProbe != .patient else { return }
        if failedAt == nil { failedAt = failure.end }
        failedProbe = confirms(failure) ? .patient : .quick
        if failure.probe == .patient, failure.isRefused { refusedAt = refusedAt ?? failure.end }
    }

    /// Whether it ends listings in flight too. A busy store refuses a probe now and then.
    private func confirms(_ failure: FailedProbe) -> Bool {
        if failure.isRefused {
            return refusedAt.map { failure.end - $0 >= Self.doubtTime } ?? false
        }
        guard failure.probe == .patient, let lostAt else { return false }
        return !failure.isBesideListing || failure.end - lostAt >= Self.listingMax
    }
}

/// A probe that was not answered.
struct FailedProbe {
    let probe: ProbeSchedule.Probe
    /// Whether it failed soon, not for its lateness.
    let isRefused: Bool
    /// Whether a listing is in flight that it may have waited for.
    let isBesideListing: Bool
    let end: Duration
}
