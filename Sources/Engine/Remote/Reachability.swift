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
    /// The most patient probe that has failed since then.
    var failedProbe: ProbeSchedule.Probe?
    /// The end of the last time out of reach, by the monotonic clock.
    var outageEnd: Duration?

    /// How long the remote must be lost before it counts as out of reach: a connection that broke a
    /// moment ago, or a server that starts anew, is not an outage. Requests wait for as long, and at
    /// least until a probe has failed too. A probe that succeeds shows that only this request fails,
    /// which is then retried for longer.
    static var doubtTime: Duration { .seconds(5) }

    /// Whether the remote has answered nothing for ``doubtTime``, and a probe has failed in that time.
    package func isOutOfReach(at now: Duration) -> Bool { outage(at: now) != nil }

    /// Returns the stage of the outage; nil if there is none.
    func outage(at now: Duration) -> OutageStage? {
        guard !isReachable, !isUnauthorized, let failedProbe, let doubtEnd, doubtEnd <= now else {
            return nil
        }
        return failedProbe == .patient ? .confirmed : .outOfReach
    }

    /// The earliest time at which the lost remote is out of reach.
    var doubtEnd: Duration? { lostAt.map { max($0, lastSign ?? $0) + Self.doubtTime } }

    /// Notes arriving bytes: they delay an outage, and do not end one.
    mutating func noteSign(at now: Duration) {
        if !isReachable, outage(at: now) == nil { lastSign = now }
    }

    /// Notes a failure while the remote is lost.
    mutating func note(failed probe: ProbeSchedule.Probe?) {
        if failedProbe != .patient { failedProbe = probe ?? failedProbe }
    }
}
