/// Decides which request to which host starts when: in the order they came, as many side by side
/// as the host's ``HostLimit`` says.
///
/// The queues have no bound of their own: every request in them is an awaiting task, so whoever
/// bounds the tasks bounds the queues.
struct Admission<Request: Hashable> {
    private struct Host {
        var limit: HostLimit
        var active = 0
        /// Those before `next` have started; those not in `Admission.waiting` are gone.
        var queue: [Request] = []
        var next = 0
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
        hosts[name]?.active -= 1
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
    /// - Returns: Those that start now.
    mutating func judge(at now: Duration) -> [Request] {
        var started: [Request] = []
        for name in hosts.keys {
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
                guard host.active < host.limit.current else {
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
