/// Decides when to probe the remote, without clock, I/O or lock: time is an argument.
///
/// A call may take long although the remote is well: it lists a large directory, or moves a large
/// file. So silence alone means nothing, and a probe during the silence finds out. Once the remote
/// is lost, probes find out when it is back.
struct ProbeSchedule {
    enum Action: Equatable {
        case probe(Probe)
        case wait(until: Duration?)
    }

    enum Probe: Equatable {
        case quick
        /// For a remote that answers, but slowly.
        case patient
    }

    /// How long a call may be silent before the first probe.
    static var silenceMax: Duration { .seconds(2) }
    /// The longest interval of probes that are answered during the same silence.
    private static var gapMax: Duration { .seconds(10) }
    /// Interval between the starts of probes while the remote is lost, at first.
    static var interval: Duration { .seconds(2) }
    /// The longest one, which spares the battery of a machine without a network. A remote that is back is
    /// found within five seconds nevertheless.
    static var intervalMax: Duration { .seconds(4) }
    /// The part of the time since the loss that is between two probes.
    private static var intervalPart: Int { 60 }
    /// The least interval, if the remote was found again and lost again in between.
    private static var intervalMin: Duration { .milliseconds(500) }
    /// How long a quick probe may take, unless the remote is known to be slow.
    static var quickMax: Duration { .seconds(3) }
    /// How long it may take while it is not known yet whether the remote is slow.
    private static var firstMax: Duration { .seconds(10) }
    private static var slowMax: Duration { .seconds(30) }
    /// A store without requests for this long may sleep, and then needs as long as at first.
    private static var sleepAfter: Duration { .seconds(300) }
    /// The answer time assumed at most after a late probe.
    private static var lateMax: Duration { .seconds(5) }
    /// Fewer bytes leave even a slow line soon.
    private static var uploadBytesMin: UInt64 { 16 << 10 }
    /// How long an upload that progressed may be what delays the answer to a probe.
    private static var uploadPeriod: Duration { .seconds(30) }

    private var calls = 0
    /// The last sign of life, or the start of the first call without one; nil without a call.
    private var silentSince: Duration?
    private var lastSign: Duration?
    private var lastUpload: Duration?
    private var gap = Self.silenceMax
    private var nextProbe: Duration = .zero
    /// When the remote may have come back, as the network has changed.
    private var chance: Duration?
    /// The loss of the remote that the last call of ``next(lostAt:at:)`` knew of.
    private var knownLoss: Duration?
    private var isProbing = false
    private var isProbingPatiently = false
    /// Whether a patient probe has failed since the loss.
    private var hasFailedPatiently = false
    /// Whether the first probe was started, which shows how quick the remote is.
    private var isMeasured = false
    /// When the current probes were started.
    private var (quickStart, patientStart) = (Duration.zero, Duration.zero)
    /// The time that the last answer to a probe has taken; nil before the first probe has ended.
    private var answerTime: Duration?
    /// Whether the last quick probe was not answered in time.
    private var wasLate = false
    /// The instant of the next check that the caller knows of.
    private var planned: Duration?

    /// Notes the start of a call.
    ///
    /// - Returns: Whether ``next(lostAt:at:)`` must be called again.
    mutating func begin(at now: Duration) -> Bool {
        calls += 1
        gap = Self.silenceMax
        if silentSince == nil { silentSince = now }
        return planned.map { $0 > now + gap } ?? true
    }

    mutating func end() {
        calls -= 1
        if calls == 0 { silentSince = nil }
    }

    /// Notes that the remote has answered a call or sent bytes.
    mutating func noteSign(at now: Duration) {
        gap = Self.silenceMax
        lastSign = now
        if calls > 0 { silentSince = now }
    }

    /// Notes that an upload has progressed. That is a sign of life only if it takes some time: the
    /// first bytes go no further than this machine.
    ///
    /// - Parameter bytes: The bytes of this upload so far.
    mutating func noteUpload(_ bytes: UInt64, begunAt begin: Duration, at now: Duration) {
        if bytes >= Self.uploadBytesMin { lastUpload = now }
        if now - begin >= Self.silenceMax { noteSign(at: now) }
    }

    /// Whether the remote has answered anything from an instant on.
    func hasSign(since start: Duration) -> Bool { lastSign.map { $0 >= start } ?? false }

    /// Returns how long the current probe may take: a remote whose answers take long, or wait behind
    /// the bytes of an upload on a slow line, is not lost for that.
    func limit(of probe: Probe) -> Duration {
        switch probe {
        case .quick where isLineBusy: Self.slowMax
        case .quick where mayWakeUp: Self.firstMax
        case .quick:
            answerTime.map { min(max(Self.quickMax, $0 * 2), Self.slowMax) } ?? Self.firstMax
        case .patient: DeadlineProvider.lookMax
        }
    }

    /// Whether the store may have slept until shortly before the current probe.
    private var mayWakeUp: Bool {
        guard knownLoss == nil, let lastSign else { return false }
        return quickStart - lastSign >= Self.sleepAfter && (answerTime ?? .zero) * 2 < Self.firstMax
    }

    /// Whether an upload has progressed shortly before the current probe. While the remote is out of
    /// reach, the line is idle.
    private var isLineBusy: Bool {
        guard let lastUpload, quickStart - lastUpload < Self.uploadPeriod else { return false }
        return knownLoss.map { quickStart - $0 < Reachability.doubtTime } ?? true
    }

    /// Notes the end of a probe.
    mutating func noteEnd(of probe: Probe, isAnswered: Bool, isLate: Bool, at now: Duration) {
        switch probe {
        case .quick:
            isProbing = false
            wasLate = isLate
            if isLate { answerTime = answerTime.map { min($0, Self.lateMax) } ?? .zero }
        case .patient:
            isProbingPatiently = false
            if !isAnswered { hasFailedPatiently = true }
            answerTime = answerTime ?? .zero
        }
        guard isAnswered else { return }
        answerTime = now - (probe == .quick ? quickStart : patientStart)
        if calls > 0 { silentSince = now }
        gap = min(gap * 2, Self.gapMax)
    }

    /// - Parameter lostAt: When the remote was lost; nil while it answers.
    mutating func next(lostAt: Duration?, at now: Duration) -> Action {
        if lostAt != knownLoss {
            knownLoss = lostAt
            chance = nil
            hasFailedPatiently = false
            if lostAt != nil { nextProbe = min(nextProbe, quickStart + Self.intervalMin) }
        }
        if !isProbingPatiently, !isMeasured || isPatienceDue(at: now) {
            isMeasured = true
            wasLate = false
            isProbingPatiently = true
            patientStart = now
            return .probe(.patient)
        }
        let due: Duration? =
            isProbing
            ? nil : lostAt != nil ? nextProbe : silentSince.map { max($0 + gap, nextProbe) }
        if let due, due <= now {
            isProbing = true
            quickStart = now
            nextProbe = now + interval(at: now)
            planned = now
            return .probe(.quick)
        }
        let outage = lostAt.map { $0 + Reachability.doubtTime }.flatMap { $0 > now ? $0 : nil }
        let next = [due, outage].compactMap(\.self).min()
        planned = next
        return .wait(until: next)
    }

    private func interval(at now: Duration) -> Duration {
        guard let begin = chance ?? knownLoss else { return Self.interval }
        return min(max(Self.interval, (now - begin) / Self.intervalPart), Self.intervalMax)
    }

    /// Has a lost remote probed at once, and then as often as at the begin of an outage.
    ///
    /// - Returns: Whether it is lost, and would have been probed later than usual.
    mutating func hasten(at now: Duration) -> Bool {
        guard knownLoss != nil else { return false }
        let isLate = interval(at: now) > Self.interval
        chance = now
        nextProbe = min(nextProbe, max(now, quickStart + Self.intervalMin))
        return isLate
    }

    /// Whether a patient probe has to find out whether the lost remote is only slow.
    private func isPatienceDue(at now: Duration) -> Bool {
        guard let knownLoss else { return false }
        return wasLate || now - knownLoss >= Reachability.doubtTime && !hasFailedPatiently
    }
}
