/// Knows the requests that go on as tasks, and decides what becomes of each.
///
/// A request is admitted before its task exists, as the kernel may interrupt it in between. Calls
/// about a ticket that is no longer known change nothing, so each may come late.
struct RequestLedger<Work> {
    private enum State {
        case admitted
        /// Interrupted before its task was there.
        case cancelled
        case running(Work)
    }

    private var states: [RequestTicket: State] = [:]
    private var ticketLast: UInt = 0
    private(set) var isStopping = false

    var count: Int { states.count }

    /// - Returns: nil once ``stop()`` was called.
    mutating func admit() -> RequestTicket? {
        guard !isStopping else { return nil }
        ticketLast += 1
        let ticket = RequestTicket(rawValue: ticketLast)
        states[ticket] = .admitted
        return ticket
    }

    /// - Returns: Whether `work` is to be cancelled at once.
    mutating func started(_ ticket: RequestTicket, _ work: Work) -> Bool {
        switch states[ticket] {
        case .admitted:
            states[ticket] = .running(work)
            return false
        case .cancelled:
            states[ticket] = .running(work)
            return true
        case .running, nil:  // nil: it ended before its starter came to say so
            return false
        }
    }

    /// - Returns: The work to cancel, if it runs.
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

    /// Admits none from here on.
    ///
    /// - Returns: All work to cancel.
    mutating func stop() -> [Work] {
        isStopping = true
        return states.keys.compactMap { cancel($0) }
    }
}
