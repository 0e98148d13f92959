/// Whether a request may continue as a task.
enum RequestAdmission: Hashable {
    case admitted(RequestTicket)
    /// Too many requests wait already.
    case full
    /// The session is ending.
    case stopped
}

/// Tracks the requests that continue as tasks, and decides which work to cancel.
///
/// A request is admitted before its task exists, because the kernel may interrupt it in between.
/// Calls with an unknown ticket have no effect, so each call may come late.
struct RequestLedger<Work> {
    private enum State {
        case admitted
        /// Interrupted before its task was started.
        case cancelled
        case running(Work)
    }

    private let countMax: Int
    private var states: [RequestTicket: State] = [:]
    private var ticketLast: UInt = 0
    private(set) var isStopping = false

    var count: Int { states.count }

    init(countMax: Int) {
        self.countMax = countMax
    }

    mutating func admit() -> RequestAdmission {
        guard !isStopping else { return .stopped }
        guard states.count < countMax else { return .full }
        ticketLast += 1
        let ticket = RequestTicket(rawValue: ticketLast)
        states[ticket] = .admitted
        return .admitted(ticket)
    }

    /// - Returns: Whether `work` must be cancelled at once.
    mutating func started(_ ticket: RequestTicket, _ work: Work) -> Bool {
        // The work may have finished before this call.
        guard let state = states[ticket] else { return false }
        states[ticket] = .running(work)
        if case .cancelled = state { return true }
        return false
    }

    /// - Returns: The work to cancel, if it is running.
    mutating func cancel(_ ticket: RequestTicket) -> Work? {
        switch states[ticket] {
        case .admitted:
            states[ticket] = .cancelled
            return nil
        case .running(let work):
            return work
        case .cancelled, nil:
            return nil
        }
    }

    mutating func finished(_ ticket: RequestTicket) {
        states[ticket] = nil
    }

    /// Admits no more requests.
    ///
    /// - Returns: All work to cancel.
    mutating func stop() -> [Work] {
        isStopping = true
        return states.keys.compactMap { cancel($0) }
    }
}
