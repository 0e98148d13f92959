/// Decides which request to which host starts when.
///
/// Each ``Lane`` of a host has its own places and its own order, so that no request waits for one
/// of another kind. The host's ``HostLimit`` sets the number of places in a lane. A slow request
/// does not count against it, only against the limit's upper bound. Each lane has an eighth of that
/// to itself, beside its slow requests: requests that are never answered delay no others, until there
/// are ``excessMax`` times the upper bound.
///
/// Queries move few bytes, so that a host takes many of them at a time: they have a limit of their
/// own, and do not count among the requests of the other lanes.
///
/// The queues have no bound of their own: each request in them is a waiting task, and the number
/// of tasks is bounded.
struct Admission<Request: Hashable> {
    private struct Queue {
        var active = 0
        /// The active requests in which hardly anything has moved for a while.
        var slow = 0
        /// Those before `next` have started; those not in `Admission.waiting` were withdrawn.
        var requests: [Request] = []
        var next = 0

        mutating func noteEnd() {
            active -= 1
            slow = min(slow, active)
        }

        mutating func dropStarted() {
            guard next * 2 >= requests.count else { return }
            requests.removeFirst(next)
            next = 0
        }
    }

    private struct Host {
        var limit: HostLimit
        /// nil if queries share the places of the other lanes.
        var queryLimit: HostLimit?
        var queues = [Queue](repeating: Queue(), count: Lane.allCases.count)

        init(_ bounds: HostLimit.Bounds, queries: HostLimit.Bounds?, now: Duration) {
            limit = HostLimit(bounds, now: now)
            queryLimit = queries.map { HostLimit($0, now: now) }
        }

        /// Returns how many requests are active in the lanes that share their places with this one.
        func active(with lane: Lane) -> Int {
            let all = queues.reduce(0) { $0 + $1.active }
            if queryLimit == nil { return all }
            let queries = queues[Lane.metadata.rawValue].active
            return lane == .metadata ? queries : all - queries
        }

        subscript(lane: Lane) -> HostLimit {
            get { lane == .metadata ? queryLimit ?? limit : limit }
            set {
                if lane == .metadata, queryLimit != nil {
                    queryLimit = newValue
                } else {
                    limit = newValue
                }
            }
        }

        /// Notes an answer. A host that refuses a request has too many of those that make up most
        /// of its requests, too: queries that try a higher limit must not slow down the others.
        mutating func noteAnswer(
            _ status: Int, in lane: Lane, from begin: Duration, at now: Duration
        ) {
            let isRefusal = status == 429 || status == 503
            self[lane].noteAnswer(isRefusal: isRefusal, from: begin, at: now)
            let other: Lane = lane == .metadata ? .change : .metadata
            guard isRefusal, queryLimit != nil, active(with: other) > active(with: lane) else {
                return
            }
            self[other].noteAnswer(isRefusal: true, from: begin, at: now)
        }

        mutating func adjust(at now: Duration) {
            limit.adjust(at: now)
            queryLimit?.adjust(at: now)
        }

        var isIdle: Bool { queues.allSatisfy { $0.active == 0 && $0.requests.isEmpty } }
    }

    private static var excessMax: Int { 2 }
    /// The number of hosts whose limit is kept while they are idle.
    private static var hostsKept: Int { 64 }

    private let bounds: HostLimit.Bounds
    private let queryBounds: HostLimit.Bounds?
    private var hosts: [String: Host] = [:]
    private var waiting: [Request: String] = [:]

    /// - Parameter queries: The bounds for ``Lane/metadata``; nil if it shares those of the others.
    init(_ bounds: HostLimit.Bounds, queries: HostLimit.Bounds? = nil) {
        self.bounds = bounds
        queryBounds = queries
    }

    var hasWaiting: Bool { !waiting.isEmpty }

    /// - Returns: The requests to start now.
    mutating func enqueue(
        _ request: Request, host name: String, lane: Lane = .metadata, at now: Duration
    ) -> [Request] {
        waiting[request] = name
        hosts[name, default: Host(bounds, queries: queryBounds, now: now)].queues[lane.rawValue]
            .requests.append(request)
        return start(name, at: now)
    }

    mutating func withdraw(_ request: Request) {
        waiting[request] = nil
    }

    /// Notes the end of a started request.
    ///
    /// - Parameters:
    ///   - begin: When it was started.
    ///   - status: The host's answer; nil if there was none.
    ///   - isTimeout: Whether the host has not answered in time, or not accepted the connection.
    /// - Returns: The requests to start now.
    mutating func end(
        host name: String, lane: Lane = .metadata, from begin: Duration, status: Int?,
        isTimeout: Bool = false, at now: Duration
    ) -> [Request] {
        guard hosts[name] != nil else { return [] }
        hosts[name]?.queues[lane.rawValue].noteEnd()
        if let status {
            hosts[name]?.noteAnswer(status, in: lane, from: begin, at: now)
        } else if isTimeout {
            hosts[name]?[lane].noteTimeout(at: now)
        }
        let started = start(name, at: now)
        if hosts.count > Self.hostsKept { hosts = hosts.filter { !$0.value.isIdle } }
        return started
    }

    mutating func noteBytes(_ bytes: UInt64, host name: String, lane: Lane) {
        hosts[name]?[lane].noteBytes(bytes)
    }

    /// Adjusts the limits of all hosts to their recent throughput.
    ///
    /// - Parameter slow: The number of slow requests by host and lane.
    /// - Returns: The requests to start now.
    mutating func adjustLimits(
        at now: Duration, slow: [String: [Lane: Int]] = [:]
    ) -> [Request] {
        var started: [Request] = []
        for name in hosts.keys {
            for lane in Lane.allCases {
                hosts[name]?.queues[lane.rawValue].slow = slow[name]?[lane] ?? 0
            }
            hosts[name]?.adjust(at: now)
            started += start(name, at: now)
        }
        return started
    }

    func limit(of host: String, lane: Lane = .metadata) -> Int? { hosts[host]?[lane].current }

    private mutating func start(_ name: String, at now: Duration) -> [Request] {
        guard var host = hosts.removeValue(forKey: name) else { return [] }
        var started: [Request] = []
        for lane in Lane.allCases { start(lane, of: &host, at: now, &started) }
        hosts[name] = host
        return started
    }

    private mutating func start(
        _ lane: Lane, of host: inout Host, at now: Duration, _ started: inout [Request]
    ) {
        var queue = host.queues[lane.rawValue]
        let others = host.active(with: lane) - queue.active
        let limit = host[lane].current
        let room =
            if let queryBounds, lane == .metadata {
                queryBounds.max
            } else {
                lane.room(within: bounds.max, besidesQueries: queryBounds == nil)
            }
        let own = min(limit, bounds.max / 8)
        while queue.next < queue.requests.count {
            let request = queue.requests[queue.next]
            if waiting[request] != nil {
                let (active, moving) = (others + queue.active, queue.active - queue.slow)
                let hasRoom = moving < limit && active < room
                guard hasRoom || moving < own && active < Self.excessMax * bounds.max else {
                    host[lane].noteWaiting(at: now)
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
