import CCurl
import Synchronization

/// One request to one host, without redirects.
///
/// Created by the requesting task, then handed over to the transport's thread, which alone uses it
/// from then on. It ends exactly once.
final class Transfer: Throttled, @unchecked Sendable {
    // Sound: handed over once, through the inbox's mutex.

    /// The result of a successful transfer.
    struct Answer: Sendable {
        let response: HTTPResponse
        /// The request to send instead, if the answer is a redirect to follow.
        let next: HTTPRequest?
        /// The authentication scheme that the host asked for, if any.
        let scheme: AuthenticationScheme?
    }

    typealias Outcome = Result<Answer, TransportError>

    let destination: Destination
    /// The time limit for the whole request.
    let deadline: ContinuousClock.Instant?

    private let request: HTTPRequest
    private var handle: EasyHandle
    private let body: BodyFeed?
    private var head = ResponseHead()
    private let delivery: BodyDelivery
    private var activity: TransferActivity
    private var end: CheckedContinuation<Outcome, Never>?
    /// Set when the requesting task is cancelled; the callbacks see it before the thread reads its
    /// inbox.
    private let isCancelled = Atomic(false)
    /// Where the callbacks note that bytes have moved; nil before the start.
    var round: TransferRound?
    /// The reason why a callback stopped the transfer.
    private var failure: (kind: TransportError.Kind, reason: String, cause: (any Error)?)?

    /// The length up to which the body of a redirect is discarded; a longer one is an error.
    private static let redirectBytesMax: UInt64 = 1 << 20

    /// - Parameter knownScheme: As in ``EasyHandle/configure(_:bodyBytes:knownScheme:options:)``.
    /// - Throws: `.invalid` for a request that libcurl cannot send.
    init(
        _ request: HTTPRequest, into sink: any HTTPBodySink, deadline: ContinuousClock.Instant?,
        knownScheme: AuthenticationScheme?, bodies: BodyPool, options: TransportOptions
    ) throws(TransportError) {
        let parts = URLParts(request.url)
        destination = Destination(request, parts)
        if let fault = request.fault(parts) { throw destination.error(.invalid, fault) }
        self.request = request
        delivery = BodyDelivery(into: sink, on: bodies)
        self.deadline = deadline
        body = BodyFeed(request.body, on: bodies)
        let stallWatch = StallWatch(request, contentMax: options.contentStallMax, at: .now)
        activity = TransferActivity(stallWatch, at: .now)
        guard let handle = EasyHandle() else { throw destination.error(.invalid, "out of memory") }
        self.handle = handle
        let code = self.handle.configure(
            request, bodyBytes: body?.byteCount ?? request.method.emptyBody,
            knownScheme: knownScheme, options: options)
        if code != CURLE_OK {
            throw destination.error(.invalid, self.handle.reason(for: code))
        }
        apus_easy_set_callbacks(
            pointer, Unmanaged.passUnretained(self).toOpaque(), receiveHeader, receiveBody,
            sendBody, seekBody)
    }

    var lane: Lane { Lane(request) }

    var usesFreshConnection: Bool { request.usesFreshConnection }

    /// Whether its bytes count for the ``Bandwidth``: not those to a program on this machine.
    var isLimited: Bool { request.unixSocketPath == nil }

    var isUrgent: Bool { lane == .metadata }

    /// Closes connections that have been idle for longer, by a second or two, instead of using them.
    func limitIdleTime(to duration: Duration) {
        let seconds = min(duration.components.seconds + 1, Self.idleSecondsMax)
        _ = handle.set(CURLOPT_MAXAGE_CONN, Int(seconds))
    }

    /// libcurl's own limit.
    private static let idleSecondsMax: Int64 = 118

    /// libcurl's identifier of this transfer, unique as long as this object lives.
    var pointer: UnsafeMutableRawPointer { handle.pointer }

    /// Sets the continuation of the requesting task. Call before the transfer is handed over.
    func onEnd(_ continuation: CheckedContinuation<Outcome, Never>) {
        end = continuation
    }

    /// Sets the handler that is called, on any thread, when ``TransportThread/Command/resume(_:)`` is
    /// due.
    func onDelivery(_ handler: @escaping @Sendable () -> Void) {
        delivery.onChange(handler)
        body?.onChange(handler)
    }

    /// Makes the transfer end with its next byte. May be called on any thread.
    ///
    /// Also post a ``TransportThread/Command/cancel(_:)``, as it may be that no byte moves.
    func noteCancellation() {
        isCancelled.store(true, ordering: .relaxed)
        delivery.cancel()
    }

    // MARK: The end. Everything below runs on the transport's thread

    /// Ends the transfer with libcurl's result.
    ///
    /// - Returns: The status of the answer, if it is complete.
    func finish(_ code: CURLcode) -> Int? {
        round?.throttle.charge(handle.get(CURLINFO_REQUEST_SIZE), .up, of: self)
        if let failure {
            fail(failure.kind, failure.reason, cause: failure.cause)
        } else if code != CURLE_OK {
            var error = destination.connectionError(
                TransportError.Kind(code), handle.reason(for: code), errorNumber: errorNumber)
            error.isOfDeadConnections = areUsedConnectionsDead(code)
            finish(with: .failure(error))
        } else if let response = head.response {
            let scheme = AuthenticationScheme(offered: handle.get(CURLINFO_HTTPAUTH_AVAIL))
            finish(with: .success(Answer(response: response, next: head.next, scheme: scheme)))
            return response.status
        } else {
            // libcurl reports no error if a connection ends within the header.
            fail(.interrupted, "the answer ended before its header did")
        }
        return nil
    }

    /// See ``TransportError/isOfDeadConnections``.
    ///
    /// libcurl does not notice beforehand that a connection is closed if the server has said goodbye, as TLS
    /// does: those bytes count as a sign of life. It repeats a request on another used connection if one breaks
    /// before a line of the answer, but only five times, and not if it was still sending.
    private func areUsedConnectionsDead(_ code: CURLcode) -> Bool {
        (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR)
            && handle.get(CURLINFO_NUM_CONNECTS) == 0 && handle.get(CURLINFO_HEADER_SIZE) == 0
            && (request.mayRepeatBody || body == nil)
    }

    /// Ends the transfer after it has stalled. A refusal is complete enough without its body.
    func finishStalled() {
        if refusal != nil {
            _ = finish(CURLE_OK)
        } else {
            fail(.timedOut, "nothing was sent or received")
        }
    }

    /// Ends the transfer because the requesting task was cancelled or the transport has stopped.
    func cancel() {
        fail(.cancelled, "it was cancelled")
    }

    func fail(_ kind: TransportError.Kind, _ reason: String, cause: (any Error)? = nil) {
        finish(
            with: .failure(
                destination.error(kind, reason, errorNumber: errorNumber, cause: cause)))
    }

    /// Resumes the requesting task once neither its sink nor its source is used any more.
    private func finish(with outcome: Outcome) {
        guard let end = end.take() else { return }
        if case .failure(let error) = outcome, error.kind == .cancelled { delivery.cancel() }
        delivery.end { [destination, body] error in
            var outcome = outcome
            if case .success = outcome, let error {
                let (kind, reason) = Self.failure(ofSink: error)
                outcome = .failure(destination.error(kind, reason, cause: error))
            }
            guard let body else { return end.resume(returning: outcome) }
            body.end { [outcome] in end.resume(returning: outcome) }
        }
    }

    private static func failure(ofSink error: any Error) -> (TransportError.Kind, String) {
        if error is CancellationError {
            (.cancelled, "it was cancelled")
        } else if let full = error as? BoundedSink.Full {
            (.tooLarge, "the body of the answer is longer than \(full.bytesMax) bytes")
        } else {
            (.sink, "the received bytes could not be stored")
        }
    }

    /// Takes over the sink's failure, if it has failed.
    func noteSinkFailure() -> Bool {
        guard let error = delivery.failure else { return false }
        let (kind, reason) = Self.failure(ofSink: error)
        failure = (kind, reason, error)
        return true
    }

    /// Makes libcurl offer the bytes again that were refused, and ask again for those that were not
    /// there.
    ///
    /// - Returns: An error if a callback has stopped the transfer, which libcurl does not end then.
    func resume() -> CURLcode {
        activity.postpone(at: .now)
        return curl_easy_pause(pointer, CURLPAUSE_CONT)
    }

    private var errorNumber: Int32 { Int32(truncatingIfNeeded: handle.get(CURLINFO_OS_ERRNO)) }

    // MARK: Progress

    var progress: TransferProgress { activity.progress }

    /// Tells the requester that the request still waits for its turn.
    func noteWaiting() {
        request.onProgress?(progress.sentBytes, progress.receivedBytes)
    }

    /// Notes that the request leaves the queue.
    func noteStart() {
        activity.start(at: .now)
        noteWaiting()
    }

    /// When the request left the queue.
    var startedAt: ContinuousClock.Instant { progress.startedAt }

    /// Whether it waits for its share of the bandwidth.
    private var isThrottled: Bool { round?.throttle.isWaiting(self) ?? false }

    /// Whether hardly anything has moved for a while, although it might.
    func isSlow(at now: ContinuousClock.Instant) -> Bool {
        progress.isSlow(at: now) && !isThrottled
    }

    func takeUncountedBytes() -> UInt64 { activity.takeUncountedBytes() }

    /// The status of a refusal whose body is not complete.
    var refusal: Int? { head.refusal }

    func nextStallCheck(from now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        activity.nextStallCheck(phase, from: now)
    }

    func isStalled(at now: ContinuousClock.Instant) -> Bool {
        // Waiting for the sink or the source is not the network's fault.
        if delivery.isPaused || body?.isPaused ?? false || isThrottled {
            activity.postpone(at: now)
        }
        return activity.isStalled(phase, at: now)
    }

    private var phase: StallWatch.Phase {
        if let refusedAt = head.refusedAt { return .refused(at: refusedAt) }
        if head.answeredAt != nil { return .receiving }
        return body?.isAtEnd ?? true ? .awaitingAnswer : .sending
    }

    private func noteActivity(sent: Int = 0, received: Int = 0) {
        let hasGrown = activity.note(
            sent: sent, upTo: body?.position ?? 0, received: received, at: .now)
        if hasGrown { request.onProgress?(progress.sentBytes, progress.receivedBytes) }
    }

    /// Notes bytes of the answer for the end of the round.
    private func noteReception(_ bytes: Int = 0) {
        if activity.noteReception(bytes) { round?.transfers.append(self) }
    }

    /// Counts the bytes of a round, and has them delivered.
    func endRound() {
        noteActivity(received: activity.takeReceived())
        delivery.start()
    }

    // MARK: libcurl's callbacks

    fileprivate func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        noteReception()
        round?.throttle.note(line.count, .down, of: self)
        switch head.read(line) {
        case .more: return true
        case .tooLarge:
            failure = (.tooLarge, "the header of the answer is too long", nil)
            return false
        case .complete:
            head.complete(status: handle.get(CURLINFO_RESPONSE_CODE), for: request, at: .now)
            return true
        }
    }

    private func checkCancellation() -> Bool {
        guard isCancelled.load(ordering: .relaxed) else { return true }
        failure = (.cancelled, "it was cancelled", nil)
        return false
    }

    fileprivate enum Reception {
        case received, paused, failed
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Reception {
        guard let response = head.response, checkCancellation() else { return .failed }
        guard round?.throttle.admits(self, .down) != false else { return .paused }
        guard head.next == nil else {
            noteReception(bytes.count)
            round?.throttle.note(bytes.count, .down, of: self)
            guard activity.receivedBytes > Self.redirectBytesMax else { return .received }
            failure = (.tooLarge, "the body of a redirect is too long", nil)
            return .failed
        }
        switch delivery.append(bytes, of: response, answer: head.answerCount) {
        case .accepted:
            noteReception(bytes.count)
            round?.throttle.note(bytes.count, .down, of: self)
            return .received
        case .full: return .paused
        case .failed:
            _ = noteSinkFailure()
            return .failed
        }
    }

    /// - Returns: nil to end the transfer.
    fileprivate func send(into buffer: UnsafeMutableRawBufferPointer) -> BodyFeed.Portion? {
        guard checkCancellation() else { return nil }
        guard round?.throttle.admits(self, .up) != false else { return .notYet }
        let portion = body?.read(into: buffer) ?? .bytes(count: 0)
        switch portion {
        case .bytes(let count):
            round?.throttle.note(count, .up, of: self)
            if count > 0 { noteActivity(sent: count) }
        case .notYet: break
        case .failed(let error):
            failure = (.source, "the body of the request could not be read", error)
        }
        return portion
    }

    /// - Returns: Whether the body may be sent again.
    fileprivate func seek(to offset: UInt64) -> Bool {
        let isAnswered = head.noteRepetition()
        guard request.mayRepeatBody || isAnswered else { return false }
        body?.seek(to: offset)
        return true
    }
}

extension HTTPMethod {
    /// The length to send for a missing body: 0 for a method that expects one. RFC 9110:
    /// Content-Length.
    fileprivate var emptyBody: UInt64? { [.put, .post, .patch].contains(self) ? 0 : nil }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

/// libcurl's header callback: one line at a time. Any result but its length ends the transfer.
private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receiveLine(line) == true ? line.count : -1
}

/// libcurl's write callback. Any result but the number of bytes ends the transfer.
private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return switch transfer(context)?.receive(buffer) {
    case .received: buffer.count
    case .paused: Int(CURL_WRITEFUNC_PAUSE)
    case .failed, nil: -1
    }
}

/// libcurl's read callback.
private func sendBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return switch transfer(context)?.send(into: buffer) {
    case .bytes(let count): count
    case .notYet: Int(CURL_READFUNC_PAUSE)
    case .failed, nil: Int(CURL_READFUNC_ABORT)
    }
}

/// libcurl's seek callback, for sending the body again.
private func seekBody(
    _ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
    // libcurl guarantees that the offset counts from the start.
    guard let transfer = transfer(context), let offset = UInt64(exactly: offset) else {
        return Int32(CURL_SEEKFUNC_FAIL)
    }
    return Int32(transfer.seek(to: offset) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL)
}
