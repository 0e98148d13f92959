import CCurl

/// What the transport's thread has under way; touched by that thread alone.
struct TransportLoop: ~Copyable {
    private typealias ID = ObjectIdentifier

    private let multi: MultiHandle
    /// Those that libcurl works on, by what it calls them.
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Those that wait for a place, by their identity.
    private var waiting: [ID: Transfer] = [:]
    private var admission: Admission<ID>
    private let birth = ContinuousClock.now
    /// No deadline passes before.
    private var nextDeadline: ContinuousClock.Instant?
    private var nextJudgement: ContinuousClock.Instant
    /// When those that wait are next told that they do.
    private var nextReminder: ContinuousClock.Instant
    private static let reminderInterval: Duration = .seconds(5)

    init(_ multi: consuming MultiHandle, requestsPerHost: HostLimit.Bounds) {
        self.multi = multi
        admission = Admission(requestsPerHost)
        nextJudgement = birth + HostLimit.windowMin
        nextReminder = birth + Self.reminderInterval
    }

    // MARK: Commands

    mutating func start(_ transfer: Transfer) {
        noteDeadline(transfer.deadline)
        guard let host = transfer.limitedHost else { return activate(transfer) }
        waiting[ID(transfer)] = transfer
        activate(admission.enqueue(ID(transfer), host: host, lane: transfer.lane, at: uptime))
    }

    mutating func cancel(_ transfer: Transfer) {
        if end(transfer) { transfer.cancel() }
    }

    mutating func cancelAll() {
        for transfer in Array(active.values) + Array(waiting.values) { cancel(transfer) }
    }

    // MARK: Work

    /// Moves what can be moved without waiting, and ends what is at its end.
    mutating func perform() {
        multi.perform()
        while let (easy, code) = multi.nextEnded() {
            guard let transfer = active.removeValue(forKey: easy) else { continue }
            multi.remove(transfer)
            leave(transfer, status: transfer.finish(code))
        }
        judge()
        endOverdue()
    }

    /// Waits for the next thing to do.
    func wait() {
        let now = ContinuousClock.now
        // libcurl knows its own timers; the bound only matters if a wake-up got lost.
        var limit = Duration.seconds(60)
        if let nextDeadline { limit = min(limit, nextDeadline - now) }
        if admission.hasWaiting { limit = min(limit, nextJudgement - now) }
        multi.wait(atMost: limit)
    }

    private mutating func activate(_ ids: [ID]) {
        for id in ids {
            if let transfer = waiting.removeValue(forKey: id) { activate(transfer) }
        }
    }

    private mutating func activate(_ transfer: Transfer) {
        transfer.noteStart()
        noteDeadline(transfer.nextLook(from: .now))
        if multi.add(transfer) == CURLM_OK {
            active[transfer.pointer] = transfer
        } else {
            leave(transfer, status: transfer.finish(CURLE_OUT_OF_MEMORY))
        }
    }

    /// Takes a transfer out before its time.
    ///
    /// - Parameter status: What the host has answered, if it did.
    /// - Returns: Whether it was still there.
    private mutating func end(_ transfer: Transfer, status: Int? = nil) -> Bool {
        if active.removeValue(forKey: transfer.pointer) != nil {
            multi.remove(transfer)
            leave(transfer, status: status)
            return true
        }
        guard waiting.removeValue(forKey: ID(transfer)) != nil else { return false }
        admission.withdraw(ID(transfer))
        return true
    }

    /// Gives the place of a transfer to the next one.
    private mutating func leave(_ transfer: Transfer, status: Int?) {
        guard let host = transfer.limitedHost else { return }
        admission.noteBytes(transfer.takeUncountedBytes(), host: host)
        activate(admission.end(host: host, lane: transfer.lane, status: status, at: uptime))
    }

    // MARK: Time

    private var uptime: Duration { ContinuousClock.now - birth }

    private mutating func judge() {
        let now = ContinuousClock.now
        guard now >= nextJudgement else { return }
        nextJudgement = now + HostLimit.windowMin
        if nextReminder <= now {
            nextReminder = now + Self.reminderInterval
            for transfer in waiting.values { transfer.noteWaiting() }
        }
        var standing: [String: [Lane: Int]] = [:]
        for transfer in active.values {
            guard let host = transfer.limitedHost else { continue }
            admission.noteBytes(transfer.takeUncountedBytes(), host: host)
            guard transfer.isStanding(at: now) else { continue }
            standing[host, default: [:]][transfer.lane, default: 0] += 1
        }
        activate(admission.judge(at: uptime, standing: standing))
    }

    private mutating func noteDeadline(_ deadline: ContinuousClock.Instant?) {
        guard let deadline else { return }
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }

    private mutating func endOverdue() {
        let now = ContinuousClock.now
        guard let nextDeadline, nextDeadline <= now else { return }
        self.nextDeadline = nil
        for transfer in Array(active.values) + Array(waiting.values) {
            let isActive = active[transfer.pointer] != nil
            if let deadline = transfer.deadline, deadline <= now {
                if end(transfer) { transfer.fail(.timedOut, "it took too long") }
            } else if isActive, transfer.isStalled(at: now) {
                if end(transfer, status: transfer.refusal) { transfer.finishStalled() }
            } else {
                noteDeadline(transfer.deadline)
                if isActive { noteDeadline(transfer.nextLook(from: now)) }
            }
        }
    }
}
