/// Decides which request to which host starts when: in the order they came, as many side by side
/// as the host's ``HostLimit`` says. One that stands still keeps none of these places, only one of
/// those of the limit's upper bound: a request that is never answered holds up nobody.
///
/// The queues have no bound of their own: every request in them is an awaiting task, so whoever
/// bounds the tasks bounds the queues.
struct Admission<Request: Hashable> {
    private struct Host {
        var limit: HostLimit
        var active = 0
        /// Of these, in which nothing has moved for a while.
        var standing = 0
        /// Those before `next` have started; those not in `Admission.waiting` are gone.
        var queue: [Request] = []
        var next = 0

        mutating func noteEnd() {
            active -= 1
            standing = min(standing, active)
        }
    }

    /// Hosts whose limit is remembered while nothing goes there.
    private static var hostsKept: Int { 64 }

    private let bounds: HostLimit.Bounds
    private var hosts: [String: Host] = [:]
    private var waiting: [Request: String] = [:]

    init(_ bounds: HostLimit.Bounds) {
        self.bounds = bounds
    }

    var hasWaiting: Bool { !waiting.isEmpty }

    /// - Returns: Those that start now.
    mutating func enqueue(_ request: Request, host name: String, at now: Duration) -> [Request] {
        waiting[request] = name
        hosts[name, default: Host(limit: HostLimit(bounds, now: now))].queue.append(request)
        return start(name)
    }

    /// Forgets one that waits.
    mutating func withdraw(_ request: Request) {
        waiting[request] = nil
    }

    /// One that was started is at its end.
    ///
    /// - Parameter status: What the host answered; nil where it did not.
    /// - Returns: Those that start now.
    mutating func end(host name: String, status: Int?, at now: Duration) -> [Request] {
        guard hosts[name] != nil else { return [] }
        hosts[name]?.noteEnd()
        if let status {
            hosts[name]?.limit.noteAnswer(isRefusal: status == 429 || status == 503, at: now)
        }
        let started = start(name)
        if hosts.count > Self.hostsKept { hosts = hosts.filter { !Self.isIdle($0.value) } }
        return started
    }

    mutating func noteBytes(_ bytes: UInt64, host name: String) {
        hosts[name]?.limit.noteBytes(bytes)
    }

    /// Looks at what got done lately.
    ///
    /// - Parameter standing: How many requests stand still, by their hosts.
    /// - Returns: Those that start now.
    mutating func judge(at now: Duration, standing: [String: Int] = [:]) -> [Request] {
        var started: [Request] = []
        for name in hosts.keys {
            hosts[name]?.standing = standing[name] ?? 0
            hosts[name]?.limit.judge(at: now)
            started += start(name)
        }
        return started
    }

    func limit(of host: String) -> Int? { hosts[host]?.limit.current }

    private mutating func start(_ name: String) -> [Request] {
        guard var host = hosts.removeValue(forKey: name) else { return [] }
        var started: [Request] = []
        while host.next < host.queue.count {
            let request = host.queue[host.next]
            if waiting[request] != nil {
                guard host.active - host.standing < host.limit.current, host.active < bounds.max
                else {
                    host.limit.noteWaiting()
                    break
                }
                waiting[request] = nil
                host.active += 1
                started.append(request)
            }
            host.next += 1
        }
        if host.next * 2 >= host.queue.count {
            host.queue.removeFirst(host.next)
            host.next = 0
        }
        hosts[name] = host
        return started
    }

    private static func isIdle(_ host: Host) -> Bool { host.active == 0 && host.queue.isEmpty }
}
