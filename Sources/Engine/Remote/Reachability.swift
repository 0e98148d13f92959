/// Whether the remote answered the last request.
package struct Reachability: Hashable, Sendable {
    package var isReachable = true
    /// Whether the remote answers but rejects our credentials; synchronisation is then paused.
    package var isUnauthorized = false
    /// The store's error text, while it does not answer.
    package var reason: String?
    package var since: Timestamp?
    /// ``since`` by the monotonic clock; earlier if the remote was silent before.
    var lostAt: Duration?
    /// Whether a probe has failed since then.
    var isConfirmed = false
    /// The end of the last time out of reach, by the monotonic clock.
    var outageEnd: Duration?

    /// How long the remote must be lost before it counts as out of reach: a connection that broke a
    /// moment ago, or a server that starts anew, is not an outage. Requests wait for as long, and at
    /// least until a probe has failed too. A probe that succeeds shows that only this request fails,
    /// which is then retried for longer.
    static var doubtTime: Duration { .seconds(5) }

    /// Whether the remote has answered nothing for ``doubtTime``, and a probe has failed in that time.
    package func isOutOfReach(at now: Duration) -> Bool {
        guard !isReachable, !isUnauthorized, isConfirmed, let lostAt else { return false }
        return now - lostAt >= Self.doubtTime
    }
}
