import CCurl

/// The transfers of the transport's thread, used only by that thread.
struct TransportLoop: ~Copyable {
    private typealias ID = ObjectIdentifier

    private let multi: MultiHandle
    private let round: TransferRound
    private let throttle: Throttle<Transfer>
    /// Transfers that libcurl works on, by its identifier.
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Transfers that wait for a place.
    private var waiting: [ID: Transfer] = [:]
    private var admission: Admission<ID>
    private var reserve: ConnectionReserve
    private let startTime = ContinuousClock.now
    /// A lower bound of all deadlines and stall checks.
    private var nextDeadline: ContinuousClock.Instant?
    private var nextAdjustment: ContinuousClock.Instant
    /// When to tell the next time that transfers wait.
    private var nextReminder: ContinuousClock.Instant
    /// When a new connection that was asked for has last been answered: older idle ones may be dead.
    private var freshAnswer: ContinuousClock.Instant?
    private static let reminderInterval: Duration = .seconds(5)

    init(
        _ multi: consuming MultiHandle, _ options: TransportOptions, meter: TransportMeter
    ) {
        self.multi = multi
        throttle = Throttle(options.clock, meter: meter)
        round = TransferRound(throttle)
        admission = Admission(options.requestsPerHost, queries: options.queriesPerHost)
        reserve = ConnectionReserve(period: options.burstTime, now: .zero)
        nextAdjustment = startTime + HostLimit.windowMin
        nextReminder = startTime + Self.reminderInterval
    }

    // MARK: Commands

    mutating func start(_ transfer: Transfer) {
        noteDeadline(transfer.deadline)
        guard let host = transfer.destination.limitedHost else { return activate(transfer) }
        waiting[ID(transfer)] = transfer
        activate(admission.enqueue(ID(transfer), host: host, lane: transfer.lane, at: uptime))
    }

    mutating func cancel(_ transfer: Transfer) {
        if end(transfer) { transfer.cancel() }
    }

    /// Continues a paused transfer, or ends it if its sink has failed.
    mutating func resume(_ transfer: Transfer) {
        guard active[transfer.pointer] != nil else { return }
        let code = transfer.noteSinkFailure() ? CURLE_WRITE_ERROR : transfer.resume()
        if code != CURLE_OK, end(transfer) { _ = transfer.finish(code) }
    }

    mutating func limit(to bandwidth: Bandwidth) {
        for transfer in throttle.limit(to: bandwidth) { resume(transfer) }
    }

    mutating func cancelAll() {
        for transfer in Array(active.values) + Array(waiting.values) { cancel(transfer) }
        round.end()
    }

    // MARK: Work

    /// Moves bytes without waiting, and ends the transfers that are complete.
    mutating func perform() {
        while let transfer = throttle.takeDue() { resume(transfer) }
        multi.perform()
        round.end()
        while let (easy, code) = multi.nextEnded() {
            guard let transfer = active.removeValue(forKey: easy) else { continue }
            multi.remove(transfer)
            throttle.remove(transfer)
            if code == CURLE_OK, transfer.usesFreshConnection { freshAnswer = .now }
            let isTimeout = code == CURLE_OPERATION_TIMEDOUT || code == CURLE_COULDNT_CONNECT
            leave(transfer, status: transfer.finish(code), isTimeout: isTimeout)
        }
        adjustLimits()
        endOverdue()
    }

    /// Waits until ``perform()`` has work to do.
    func wait() {
        let now = ContinuousClock.now
        // libcurl considers its own timers; the limit only matters if an event got lost.
        var limit = active.isEmpty ? .seconds(60) : SocketEvents.passInterval
        if let nextDeadline { limit = min(limit, nextDeadline - now) }
        if let time = throttle.timeToDue { limit = min(limit, max(time, .milliseconds(1))) }
        if admission.hasWaiting { limit = min(limit, nextAdjustment - now) }
        multi.wait(atMost: limit)
    }

    private mutating func activate(_ ids: [ID]) {
        for id in ids {
            if let transfer = waiting.removeValue(forKey: id) { activate(transfer) }
        }
    }

    private mutating func activate(_ transfer: Transfer) {
        transfer.noteStart()
        transfer.round = round
        noteDeadline(transfer.nextStallCheck(from: .now))
        if let freshAnswer { transfer.limitIdleTime(to: .now - freshAnswer) }
        if multi.add(transfer) == CURLM_OK {
            active[transfer.pointer] = transfer
        } else {
            leave(transfer, status: transfer.finish(CURLE_OUT_OF_MEMORY))
        }
    }

    /// Removes a transfer that is not complete.
    ///
    /// - Parameters:
    ///   - status: The host's answer, if there is one.
    ///   - isTimeout: Whether it took too long.
    /// - Returns: Whether the transfer had not ended before.
    private mutating func end(
        _ transfer: Transfer, status: Int? = nil, isTimeout: Bool = false
    ) -> Bool {
        if active.removeValue(forKey: transfer.pointer) != nil {
            multi.remove(transfer)
            throttle.remove(transfer)
            leave(transfer, status: status, isTimeout: isTimeout)
            return true
        }
        guard waiting.removeValue(forKey: ID(transfer)) != nil else { return false }
        admission.withdraw(ID(transfer))
        return true
    }

    /// Frees the place of a transfer for the next one.
    private mutating func leave(_ transfer: Transfer, status: Int?, isTimeout: Bool = false) {
        guard let host = transfer.destination.limitedHost else { return }
        admission.noteBytes(transfer.takeUncountedBytes(), host: host, lane: transfer.lane)
        activate(
            admission.end(
                host: host, lane: transfer.lane, from: transfer.startedAt - startTime,
                status: status, isTimeout: isTimeout, at: uptime))
    }

    // MARK: Time

    private var uptime: Duration { ContinuousClock.now - startTime }

    private mutating func adjustLimits() {
        let now = ContinuousClock.now
        guard now >= nextAdjustment else { return }
        nextAdjustment = now + HostLimit.windowMin
        if nextReminder <= now {
            nextReminder = now + Self.reminderInterval
            for transfer in waiting.values { transfer.noteWaiting() }
        }
        multi.keepConnections(reserve.note(active: active.count, at: now - startTime))
        var slow: [String: [Lane: Int]] = [:]
        for transfer in active.values {
            guard let host = transfer.destination.limitedHost else { continue }
            admission.noteBytes(transfer.takeUncountedBytes(), host: host, lane: transfer.lane)
            guard transfer.isSlow(at: now) else { continue }
            slow[host, default: [:]][transfer.lane, default: 0] += 1
        }
        activate(admission.adjustLimits(at: now - startTime, slow: slow))
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
                if end(transfer, isTimeout: true) {
                    transfer.fail(.timedOut, "the time limit of the request has passed")
                }
            } else if isActive, transfer.isStalled(at: now) {
                if end(transfer, status: transfer.refusal, isTimeout: true) {
                    transfer.finishStalled()
                }
            } else {
                noteDeadline(transfer.deadline)
                if isActive { noteDeadline(transfer.nextStallCheck(from: now)) }
            }
        }
    }
}
