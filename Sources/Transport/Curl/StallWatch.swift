/// Decides when a transfer has stalled, without clock or I/O: time is an argument.
///
/// A request may allow a server much time to act on it. A body needs no such time: it stalls after
/// a fixed time without a byte, also in the kernel (``EasyHandle/setSocket(stallMax:)``).
struct StallWatch {
    enum Phase {
        /// The body of the request is not all sent.
        case sending
        case awaitingAnswer
        case receiving
        /// The answer is a refusal, whose body need not be complete.
        case refused(at: ContinuousClock.Instant)
    }

    /// For the body of any other answer.
    static let answerMax: Duration = .seconds(60)
    /// For the whole body of a refusal, which only explains it.
    static let refusalMax: Duration = .seconds(5)

    /// As in ``HTTPRequest/stallTimeout``.
    private let timeout: Duration?
    /// As in ``TransportOptions/contentStallMax``.
    private let contentMax: Duration
    private let isContentAwaited: Bool
    private var lastActivity: ContinuousClock.Instant

    init(_ request: HTTPRequest, contentMax: Duration, at now: ContinuousClock.Instant) {
        timeout = request.stallTimeout
        self.contentMax = contentMax
        isContentAwaited = request.answerBytes > 0
        lastActivity = now
    }

    mutating func noteActivity(at now: ContinuousClock.Instant) {
        lastActivity = now
    }

    /// Returns when to check next. An answer in between may bring the time forward.
    func nextCheck(
        _ phase: Phase, from now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        let next = now + Self.refusalMax
        return end(phase).map { min($0, next) } ?? next
    }

    /// Returns whether nothing moves, or whether the rest of a refusal has been awaited long enough.
    func isStalled(_ phase: Phase, at now: ContinuousClock.Instant) -> Bool {
        end(phase).map { $0 <= now } ?? false
    }

    /// When the transfer has stalled unless a byte moves before; nil if it may take any time.
    private func end(_ phase: Phase) -> ContinuousClock.Instant? {
        if case .refused(let start) = phase { return start + Self.refusalMax }
        guard let timeout else { return nil }
        let limit: Duration =
            switch phase {
            case .sending: contentMax
            case .awaitingAnswer: isContentAwaited ? contentMax : timeout
            case .receiving, .refused: isContentAwaited ? contentMax : Self.answerMax
            }
        return lastActivity + min(timeout, limit)
    }
}
