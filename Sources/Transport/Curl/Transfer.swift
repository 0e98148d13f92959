import CCurl
import Synchronization

/// One request on its way to one host, without redirects.
///
/// Made by the task that asks, then handed to the transport's thread, which alone touches it from
/// then on. It ends exactly once.
final class Transfer: @unchecked Sendable {  // sound: handed over once, through the inbox's mutex
    /// How it went well.
    struct Answer: Sendable {
        let response: HTTPResponse
        /// What is to be asked instead, if the answer names another place.
        let next: HTTPRequest?
        /// What the host said about how to authenticate, if it did.
        let scheme: AuthenticationScheme?
    }

    typealias Outcome = Result<Answer, TransportError>

    /// The host, as far as its limit goes; nil where there is none, as for our own daemon.
    let limitedHost: String?
    /// With which others it shares the host's places.
    let lane: Lane
    /// `GET https://host/path`.
    let attempt: String
    /// What the environment has for such requests; `no_proxy` is not looked at.
    private let proxy: EnvironmentProxy?
    /// When everything must be over.
    let deadline: ContinuousClock.Instant?

    private let request: HTTPRequest
    private var handle: EasyHandle
    private let sink: any HTTPBodySink
    private let body: (source: any HTTPBodySource, range: Range<UInt64>)?
    private var end: CheckedContinuation<Outcome, Never>?
    /// Nobody waits any more; the callbacks find out before the thread reads its inbox.
    private let isGivenUp = Atomic(false)

    private var header = HeaderReader()
    /// The answer whose body comes, once its header is whole.
    private var response: HTTPResponse?
    /// When that was; nil for an answer after which libcurl may ask once more by itself.
    private var answeredAt: ContinuousClock.Instant?
    /// Set with ``response`` if that only says where to ask.
    private var next: HTTPRequest?
    /// What stopped the transfer from within a callback.
    private var failure: (kind: TransportError.Kind, reason: String, cause: (any Error)?)?

    /// Where the source is read next, counted from the start of its range.
    private var position: UInt64 = 0
    private(set) var sentBytes: UInt64 = 0
    private(set) var receivedBytes: UInt64 = 0
    /// Bytes moved that nobody has counted yet.
    private var uncountedBytes: UInt64 = 0
    private var lastActivity = ContinuousClock.now
    /// When it last had moved as much as makes it worth its place.
    private var lastStep = ContinuousClock.now
    private var bytesSinceStep = 0
    private var unsentBytes = 0

    /// How long the body of an answer may go without a byte: the server has done its work.
    private static let answerStallMax: Duration = .seconds(60)
    /// How long the body of a refusal is waited for, which says no more than why.
    private static let refusalPatience: Duration = .seconds(5)
    /// Refusals that libcurl answers by asking once more: with credentials, or with no `Expect`.
    private static let preliminary = [401, 407, 417]
    /// The body of an answer that only says where to ask is thrown away, up to this length.
    private static let redirectBytesMax: UInt64 = 1 << 20

    /// - Parameter knownScheme: As in ``EasyHandle/configure(_:bodyBytes:knownScheme:options:)``.
    /// - Throws: `.invalid` for what makes no sense.
    init(
        _ request: HTTPRequest, into sink: any HTTPBodySink, deadline: ContinuousClock.Instant?,
        knownScheme: AuthenticationScheme?, options: TransportOptions
    ) throws(TransportError) {
        let parts = URLParts(request.url)
        attempt = "\(request.method.rawValue) \(parts?.shown ?? "(no URL)")"
        limitedHost = request.unixSocketPath == nil ? parts?.origin : nil
        proxy = request.unixSocketPath == nil ? parts.flatMap { EnvironmentProxy(for: $0) } : nil
        if let fault = request.fault(parts) {
            throw TransportError(.invalid, attempt: attempt, reason: fault)
        }
        self.request = request
        lane = Lane(request)
        self.sink = sink
        self.deadline = deadline
        switch request.body {
        case .none: body = nil
        case .bytes(let bytes): body = (BytesSource(bytes: bytes), 0..<UInt64(bytes.count))
        case .source(let source, let range): body = (source, range)
        }
        guard let handle = EasyHandle() else {
            throw TransportError(.invalid, attempt: attempt, reason: "out of memory")
        }
        self.handle = handle
        var code = self.handle.configure(
            request, bodyBytes: body.map { UInt64($0.range.count) } ?? request.method.emptyBody,
            knownScheme: knownScheme, options: options)
        if code == CURLE_OK { code = setCallbacks() }
        if code != CURLE_OK {
            throw TransportError(.invalid, attempt: attempt, reason: self.handle.reason(for: code))
        }
    }

    /// What libcurl calls this transfer; no other has the same while this object lives.
    var pointer: UnsafeMutableRawPointer { handle.pointer }

    /// Says who waits; before the transfer is handed over.
    func onEnd(_ continuation: CheckedContinuation<Outcome, Never>) {
        end = continuation
    }

    /// Ends the transfer with its next byte; for any thread. Whoever calls it posts a
    /// ``TransportThread/Command/cancel(_:)`` too, for a transfer in which no byte moves.
    func giveUp() {
        isGivenUp.store(true, ordering: .relaxed)
    }

    // MARK: The end. All below is for the transport's thread

    /// Ends the transfer as libcurl says.
    ///
    /// - Returns: The status of the answer, if there is a whole one.
    func finish(_ code: CURLcode) -> Int? {
        let status = response?.status
        if let failure {
            fail(failure.kind, failure.reason, cause: failure.cause)
        } else if code != CURLE_OK {
            failAsTold(code)
        } else if let response {
            let scheme = AuthenticationScheme(offered: handle.get(CURLINFO_HTTPAUTH_AVAIL))
            finish(with: .success(Answer(response: response, next: next, scheme: scheme)))
            return status
        } else {
            // libcurl does not mind that a connection ends within the header.
            fail(.interrupted, "the answer ended before its header did")
        }
        return nil
    }

    /// Ends the transfer after it has stalled. A refusal is as good without the rest of its body.
    func finishStalled() {
        if refusal != nil {
            _ = finish(CURLE_OK)
        } else {
            fail(.timedOut, "nothing was sent or received")
        }
    }

    private func failAsTold(_ code: CURLcode) {
        let reason = handle.reason(for: code)
        guard let proxy, proxy.isMeant(by: reason) else {
            return fail(TransportError.Kind(code), reason)
        }
        fail(
            TransportError.Kind(code),
            "the proxy \(proxy.address) (\(proxy.variable)) does not do its work: \(reason)",
            proxy: proxy)
    }

    /// Ends the transfer because nobody waits for its outcome any more.
    func cancel() {
        fail(.cancelled, "it was cancelled")
    }

    func fail(
        _ kind: TransportError.Kind, _ reason: String, proxy: EnvironmentProxy? = nil,
        cause: (any Error)? = nil
    ) {
        let number = Int32(truncatingIfNeeded: handle.get(CURLINFO_OS_ERRNO))
        finish(
            with: .failure(
                TransportError(
                    kind, attempt: attempt, reason: reason, errorNumber: number, proxy: proxy,
                    cause: cause)))
    }

    private func finish(with outcome: Outcome) {
        end?.resume(returning: outcome)
        end = nil
    }

    // MARK: Progress

    /// The request still has to wait for its turn.
    func noteWaiting() {
        request.onProgress?(sentBytes, receivedBytes)
    }

    /// The request leaves the queue.
    func noteStart() {
        lastActivity = .now
        lastStep = lastActivity
        noteWaiting()
    }

    /// Bytes moved since the last call.
    func takeUncountedBytes() -> UInt64 {
        defer { uncountedBytes = 0 }
        return uncountedBytes
    }

    /// Whether next to nothing has moved for a while.
    func isStanding(at now: ContinuousClock.Instant) -> Bool {
        now - lastStep >= HostLimit.standstill
    }

    /// When to look next whether it has stalled: an answer in between brings that forward.
    func nextLook(from now: ContinuousClock.Instant) -> ContinuousClock.Instant {
        let next = now + Self.refusalPatience
        return stallsAt.map { min($0, next) } ?? next
    }

    /// The status of a refusal whose body does not come to its end.
    var refusal: Int? { refusedAt == nil ? nil : response?.status }

    private var refusedAt: ContinuousClock.Instant? {
        (response?.status ?? 0) >= 300 ? answeredAt : nil
    }

    /// When it has stalled, as things are; nil where it may take as long as it takes.
    private var stallsAt: ContinuousClock.Instant? {
        if let refusedAt { return refusedAt + Self.refusalPatience }
        return request.stallTimeout.map {
            lastActivity + (answeredAt == nil ? $0 : min($0, Self.answerStallMax))
        }
    }

    /// Whether nothing moves any more: neither through libcurl nor out of the kernel's buffer; or
    /// whether what moves is no longer worth the wait.
    func isStalled(at now: ContinuousClock.Instant) -> Bool {
        guard let stallsAt, stallsAt <= now else { return false }
        guard refusal == nil else { return true }
        let unsent = handle.unsentBytes ?? 0
        defer { unsentBytes = unsent }
        guard unsent != 0, unsent != unsentBytes else { return true }
        lastActivity = now
        return false
    }

    private func noteActivity(sent: Int = 0, received: Int = 0) {
        lastActivity = .now
        bytesSinceStep += sent + received
        if bytesSinceStep >= HostLimit.bytesPerStep {
            bytesSinceStep = 0
            lastStep = lastActivity
        }
        uncountedBytes += UInt64(sent + received)
        receivedBytes += UInt64(received)
        let isFurther = position > sentBytes
        if isFurther { sentBytes = position }
        if isFurther || received > 0 { request.onProgress?(sentBytes, receivedBytes) }
    }

    // MARK: libcurl's callbacks

    private func setCallbacks() -> CURLcode {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let codes = [
            handle.setCallback(
                CURLOPT_HEADERFUNCTION, receiveHeader, CURLOPT_HEADERDATA, context: context),
            handle.setCallback(
                CURLOPT_WRITEFUNCTION, receiveBody, CURLOPT_WRITEDATA, context: context),
            handle.setCallback(
                CURLOPT_READFUNCTION, sendBody, CURLOPT_READDATA, context: context),
            handle.setSeekCallback(seekBody, context: context),
        ]
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }

    fileprivate func receiveLine(_ line: UnsafeRawBufferPointer) -> Bool {
        noteActivity()
        switch header.read(line) {
        case .more: return true
        case .tooLarge:
            failure = (.tooLarge, "the header of the answer is too long", nil)
            return false
        case .complete:
            let status = handle.get(CURLINFO_RESPONSE_CODE)
            guard status >= 200 else { return true }
            let response = HTTPResponse(status: status, headers: header.headers)
            self.response = response
            answeredAt = Self.preliminary.contains(status) ? nil : .now
            next = Redirect.next(after: response, to: request)
            return true
        }
    }

    private func isWanted() -> Bool {
        guard isGivenUp.load(ordering: .relaxed) else { return true }
        failure = (.cancelled, "it was cancelled", nil)
        return false
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let response, isWanted() else { return false }
        noteActivity(received: bytes.count)
        guard next == nil else {
            guard receivedBytes > Self.redirectBytesMax else { return true }
            failure = (.tooLarge, "the answer names another place, and goes on and on", nil)
            return false
        }
        do {
            try sink.receive(bytes, of: response)
            return true
        } catch {
            failure = (.sink, "the bytes were refused", error)
            return false
        }
    }

    /// - Returns: The bytes given; nil to end the transfer.
    fileprivate func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard isWanted() else { return nil }
        guard let body else { return 0 }
        let left = UInt64(body.range.count) - position
        guard left > 0 else { return 0 }
        let piece = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(clamping: left)))
        let offset = body.range.lowerBound + position
        do {
            let count = try body.source.read(into: piece, at: offset)
            guard count > 0 else { throw HTTPBodySourceEnded(offset: offset) }
            position += UInt64(count)
            noteActivity(sent: count)
            return count
        } catch {
            failure = (.source, "the body could not be read", error)
            return nil
        }
    }

    fileprivate func seek(to offset: UInt64) {
        position = offset
    }
}

extension HTTPRequest {
    /// What is wrong with it, in words; nil if nothing is.
    fileprivate func fault(_ parts: URLParts?) -> String? {
        guard let parts else { return "the URL is malformed" }
        if !parts.isHTTP { return "the URL is neither http nor https" }
        if parts.hasUser { return "the URL holds credentials" }
        let names = [method.rawValue] + headers.map(\.name)
        if !names.allSatisfy(\.isToken) { return "a name has a character that HTTP forbids" }
        let ends = Set("\r\n\0".utf8)
        if headers.contains(where: { $0.value.utf8.contains(where: ends.contains) }) {
            return "a header has a line end in it"
        }
        if case .source(let source, let range) = body, range.upperBound > source.size {
            return "the body is longer than its source"
        }
        return nil
    }
}

extension HTTPMethod {
    /// A method that has a body must say so even where that is empty. RFC 9110: Content-Length.
    fileprivate var emptyBody: UInt64? { [.put, .post, .patch].contains(self) ? 0 : nil }
}

extension String {
    /// RFC 9110: token.
    fileprivate var isToken: Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        return !isEmpty
            && utf8.allSatisfy { byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || marks.contains(byte)
            }
    }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

/// libcurl's header callback: one line at a time; anything but its length ends the transfer.
private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receiveLine(line) == true ? line.count : -1
}

/// libcurl's write callback; anything but the number of bytes ends the transfer.
private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.receive(buffer) == true ? buffer.count : -1
}

/// libcurl's read callback.
private func sendBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return transfer(context)?.give(buffer) ?? Int(CURL_READFUNC_ABORT)
}

/// libcurl's seek callback, for a body that is wanted again.
private func seekBody(
    _ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
    // libcurl promises that it counts from the start.
    guard let transfer = transfer(context), let offset = UInt64(exactly: offset) else {
        return Int32(CURL_SEEKFUNC_FAIL)
    }
    transfer.seek(to: offset)
    return Int32(CURL_SEEKFUNC_OK)
}
