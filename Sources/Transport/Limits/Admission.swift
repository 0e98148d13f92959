/// Decides which request to which host starts when. Each ``Lane`` of a host has its own places and
/// its own order, so that no request ever waits for one of another kind; as many of a lane run side
/// by side as the host's ``HostLimit`` says. One that stands still keeps none of these places, only
/// one of those of the limit's upper bound: a request that is never answered holds up nobody.
///
/// The queues have no bound of their own: every request in them is an awaiting task, so whoever
/// bounds the tasks bounds the queues.
struct Admission<Request: Hashable> {
    private struct Queue {
        var active = 0
        /// Of these, in which next to nothing has moved for a while.
        var standing = 0
        /// Those before `next` have started; those not in `Admission.waiting` are gone.
        var requests: [Request] = []
        var next = 0

        mutating func noteEnd() {
            active -= 1
            standing = min(standing, active)
        }

        mutating func dropStarted() {
            guard next * 2 >= requests.count else { return }
            requests.removeFirst(next)
            next = 0
        }
    }

    private struct Host {
        var limit: HostLimit
        var queues = [Queue](repeating: Queue(), count: Lane.allCases.count)

        var active: Int { queues.reduce(0) { $0 + $1.active } }
        var isIdle: Bool { queues.allSatisfy { $0.active == 0 && $0.requests.isEmpty } }
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
    mutating func enqueue(
        _ request: Request, host name: String, lane: Lane = .look, at now: Duration
    ) -> [Request] {
        waiting[request] = name
        hosts[name, default: Host(limit: HostLimit(bounds, now: now))].queues[lane.rawValue]
            .requests.append(request)
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
    mutating func end(
        host name: String, lane: Lane = .look, status: Int?, at now: Duration
    ) -> [Request] {
        guard hosts[name] != nil else { return [] }
        hosts[name]?.queues[lane.rawValue].noteEnd()
        if let status {
            hosts[name]?.limit.noteAnswer(isRefusal: status == 429 || status == 503, at: now)
        }
        let started = start(name)
        if hosts.count > Self.hostsKept { hosts = hosts.filter { !$0.value.isIdle } }
        return started
    }

    mutating func noteBytes(_ bytes: UInt64, host name: String) {
        hosts[name]?.limit.noteBytes(bytes)
    }

    /// Looks at what got done lately.
    ///
    /// - Parameter standing: How many requests stand still, by their hosts and lanes.
    /// - Returns: Those that start now.
    mutating func judge(
        at now: Duration, standing: [String: [Lane: Int]] = [:]
    ) -> [Request] {
        var started: [Request] = []
        for name in hosts.keys {
            for lane in Lane.allCases {
                hosts[name]?.queues[lane.rawValue].standing = standing[name]?[lane] ?? 0
            }
            hosts[name]?.limit.judge(at: now)
            started += start(name)
        }
        return started
    }

    func limit(of host: String) -> Int? { hosts[host]?.limit.current }

    private mutating func start(_ name: String) -> [Request] {
        guard var host = hosts.removeValue(forKey: name) else { return [] }
        var started: [Request] = []
        for lane in Lane.allCases { start(lane, of: &host, &started) }
        hosts[name] = host
        return started
    }

    private mutating func start(_ lane: Lane, of host: inout Host, _ started: inout [Request]) {
        var queue = host.queues[lane.rawValue]
        let others = host.active - queue.active
        while queue.next < queue.requests.count {
            let request = queue.requests[queue.next]
            if waiting[request] != nil {
                guard queue.active - queue.standing < host.limit.current,
                    others + queue.active < lane.room(within: bounds.max)
                else {
                    host.limit.noteWaiting()
                    break
                }
                waiting[request] = nil
                queue.active += 1
                started.append(request)
            }
            queue.next += 1
        }
        queue.dropStarted()
        host.queues[lane.rawValue] = queue
    }
}
