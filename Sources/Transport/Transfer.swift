import CCurl
import Synchronization

/// One request on its way.
///
/// Made by the task that asks, then handed to the transport's thread, which alone touches the
/// handle from then on. It ends exactly once.
final class Transfer: @unchecked Sendable {  // sound: handed over once, through the inbox's mutex
    typealias Outcome = Result<HTTPResponse, TransportError>

    private var handle: EasyHandle
    private let attempt: String
    private let sink: any HTTPBodySink
    private var sinkFailure: (any Error)?
    private var end: CheckedContinuation<Outcome, Never>?

    /// - Throws: `.invalid` for what libcurl does not take.
    init(_ request: HTTPRequest, into sink: any HTTPBodySink) throws(TransportError) {
        attempt = "\(request.method.rawValue) \(request.url.prefix { $0 != "?" })"
        self.sink = sink
        guard let handle = EasyHandle() else {
            throw TransportError(.invalid, attempt: attempt, reason: "out of memory")
        }
        self.handle = handle
        let code = configure(request)
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

    /// Ends the transfer as libcurl says. On the transport's thread.
    func finish(_ code: CURLcode) {
        guard code != CURLE_OK else { return finish(with: .success(response)) }
        finish(
            with: .failure(
                TransportError(
                    sinkFailure != nil ? .sink : Self.kind(of: code), attempt: attempt,
                    reason: handle.reason(for: code),
                    errorNumber: Int32(truncatingIfNeeded: handle.get(CURLINFO_OS_ERRNO)),
                    cause: sinkFailure)))
    }

    /// Ends the transfer because nobody waits for its outcome any more.
    func cancel() {
        finish(
            with: .failure(TransportError(.cancelled, attempt: attempt, reason: "it was cancelled"))
        )
    }

    private func finish(with outcome: Outcome) {
        end?.resume(returning: outcome)
        end = nil
    }

    private var response: HTTPResponse { HTTPResponse(status: handle.get(CURLINFO_RESPONSE_CODE)) }

    private func configure(_ request: HTTPRequest) -> CURLcode {
        // Signals belong to the process, not to a library on one of its threads.
        var codes = [
            handle.set(CURLOPT_NOSIGNAL, 1),
            handle.set(CURLOPT_URL, request.url),
            handle.set(CURLOPT_PROTOCOLS_STR, "http,https"),
            handle.set(CURLOPT_CONNECTTIMEOUT_MS, request.connectTimeout.milliseconds),
            handle.setHeaders(request.headers),
            handle.setBodyCallback(
                receiveBody, context: Unmanaged.passUnretained(self).toOpaque()),
        ]
        if let timeout = request.timeout {
            codes.append(handle.set(CURLOPT_TIMEOUT_MS, timeout.milliseconds))
        }
        if let path = request.unixSocketPath {
            // A proxy of the environment has no business between us and our own daemon.
            codes.append(handle.set(CURLOPT_PROXY, ""))
            codes.append(handle.set(CURLOPT_UNIX_SOCKET_PATH, path))
        }
        if request.method == .post {
            codes.append(handle.set(CURLOPT_POST, 1))
            codes.append(handle.setBody(request.body))
        }
        return codes.first { $0 != CURLE_OK } ?? CURLE_OK
    }

    fileprivate func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        do {
            try sink.receive(bytes, of: response)
            return true
        } catch {
            sinkFailure = error
            return false
        }
    }

    private static func kind(of code: CURLcode) -> TransportError.Kind {
        switch code {
        case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            .unreachable
        case CURLE_OPERATION_TIMEDOUT: .timedOut
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            .interrupted
        default: .invalid
        }
    }
}

/// libcurl's write callback; anything but the number of bytes ends the transfer.
private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return transfer.receive(buffer) ? buffer.count : -1
}

extension Duration {
    /// Rounded up, so that a short timeout is not none, which is what 0 means to libcurl.
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int(seconds) * 1000 + Int(fraction))
    }
}
