import Foundation
import Logging
import Synchronization
import SystemCalls

/// HTTP for the whole process: any number of concurrent requests on one thread of its own.
///
/// Connections are kept and reused; libcurl resolves names on threads of its own. Each host gets
/// as many concurrent requests of a kind as it serves well, see ``HostLimit``; further requests
/// wait in order of arrival. Metadata requests, short reads, changes, downloads and uploads never
/// wait for each other. The thread only moves bytes: bodies are received on a pool, `apus-bodies`, by
/// sinks that may wait. Proxies are those of the environment. Nothing is decompressed.
///
/// The thread, `apus-transport`, ends with the last reference, which cancels all requests.
package final class HTTPTransport: Sendable {
    private let options: TransportOptions
    private let shared: TransportThread
    private let bodies: BodyPool
    /// The known schemes of hosts that are sent negotiated credentials, by origin.
    private let schemes = Mutex<[String: AuthenticationScheme]>([:])
    package let meter = TransportMeter()
    private let limit = Mutex(Limit())
    /// The number of requests so far, which names them in the log.
    private let requestCount = Atomic<UInt64>(0)

    private struct Limit {
        var bandwidth = Bandwidth.unlimited
        var observers: [@Sendable (Bandwidth) -> Void] = []
    }

    package init(_ options: TransportOptions = TransportOptions()) {
        self.options = options
        bodies = BodyPool(waitingBytesMax: options.waitingBytesMax)
        let shared = TransportThread(options, meter: meter)
        self.shared = shared
        Thread.detachNewThread {
            WorkerThread.nameCurrent("apus-transport")
            shared.run()
        }
    }

    deinit {
        shared.post(.stop)
    }

    // MARK: Bandwidth

    /// The limit of all requests together, except those to programs on this machine.
    package var bandwidth: Bandwidth { limit.withLock(\.bandwidth) }

    package func setBandwidth(_ bandwidth: Bandwidth) {
        limit.withLock { limit in
            limit.bandwidth = bandwidth
            // Under the lock, so that all have the last value in the end.
            shared.post(.limit(bandwidth))
            for observer in limit.observers { observer(bandwidth) }
        }
    }

    /// Calls `observer` with each later value of ``bandwidth``, on any thread, one after the other. It
    /// calls this transport only after it has returned.
    package func onBandwidthChange(_ observer: @escaping @Sendable (Bandwidth) -> Void) {
        limit.withLock { $0.observers.append(observer) }
    }

    // MARK: Requests

    /// Sends a request, and returns once `sink` has the whole body of the answer.
    ///
    /// Cancelling the task stops the transfer at once and closes its connection. The body of a
    /// refusal may be incomplete or missing, as the wait for it is limited to a few seconds.
    ///
    /// - Throws: An error if the answer is incomplete. A status of 400 and above is not an error.
    package func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        let deadline = request.timeout.map { ContinuousClock.now + $0 }
        var request = request
        while true {
            guard let answer = try await ask(request, into: sink, deadline: deadline) else {
                request.usesFreshConnection = true
                continue
            }
            guard let next = answer.next else { return answer.response }
            request = next
        }
    }

    /// Sends a request and collects the body of the answer.
    ///
    /// - Throws: `.tooLarge` for a body above `bytesMax`, and as ``send(_:into:)``.
    package func send(
        _ request: HTTPRequest, bytesMax: Int = 1 << 20
    ) async throws(TransportError) -> (response: HTTPResponse, body: [UInt8]) {
        let sink = BoundedSink(bytesMax: bytesMax)
        let response = try await send(request, into: sink)
        return (response, sink.bytes)
    }

    /// Sends one request to one host.
    ///
    /// - Returns: nil to send it on a new connection, see ``TransportError/isOfDeadConnections``.
    private func ask(
        _ request: HTTPRequest, into sink: any HTTPBodySink, deadline: ContinuousClock.Instant?
    ) async throws(TransportError) -> Transfer.Answer? {
        let start = ContinuousClock.now
        let transfer = try Transfer(
            request, into: sink, deadline: deadline, knownScheme: knownScheme(for: request),
            bodies: bodies, options: options)
        transfer.onDelivery { [shared, weak transfer] in
            if let transfer { shared.post(.resume(transfer)) }
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.onEnd(continuation)
                shared.post(.start(transfer))
                // A cancellation before the start had no effect.
                if Task.isCancelled { shared.post(.cancel(transfer)) }
            }
        } onCancel: {
            transfer.noteCancellation()
            shared.post(.cancel(transfer))
        }
        let time = ContinuousClock.now - start
        if case .success(let answer) = outcome {
            meter.note(request.method, status: answer.response.status, after: time)
        } else {
            meter.note(request.method, status: nil, after: time)
        }
        log(transfer, outcome, after: time)
        if case .success(let answer) = outcome {
            options.onAnswer(answer.response)
            learn(from: answer, to: request)
        }
        if case .failure(let error) = outcome, error.isOfDeadConnections,
            !request.usesFreshConnection
        {
            return nil
        }
        return try outcome.get()
    }

    // MARK: Authentication

    private func knownScheme(for request: HTTPRequest) -> AuthenticationScheme? {
        guard case .negotiated = request.credentials, let parts = URLParts(request.url) else {
            return nil
        }
        return schemes.withLock { $0[parts.origin] }
    }

    private func learn(from answer: Transfer.Answer, to request: HTTPRequest) {
        guard case .negotiated = request.credentials, let scheme = answer.scheme,
            let parts = URLParts(request.url)
        else { return }
        // After a refusal the scheme is unknown again, as the server may have been reconfigured.
        let isRefused = answer.response.status == 401
        schemes.withLock { $0[parts.origin] = isRefused ? nil : scheme }
    }

    // MARK: Log

    private func log(_ transfer: Transfer, _ outcome: Transfer.Outcome, after time: Duration) {
        let number = requestCount.add(1, ordering: .relaxed).newValue
        guard options.logger.logLevel <= .debug else { return }
        var metadata: Logger.Metadata = [
            "number": "\(number)",
            "milliseconds": "\(time.milliseconds)",
            "sentBytes": "\(transfer.progress.sentBytes)",
            "receivedBytes": "\(transfer.progress.receivedBytes)",
        ]
        let request = transfer.destination.attempt
        switch outcome {
        case .success(let answer):
            let response = answer.response
            metadata["requestID"] = response.requestID.map { "\($0)" }
            options.logger.debug("\(request): status \(response.status)", metadata: metadata)
        case .failure(let error):
            options.logger.debug("\(request): \(error.reason)", metadata: metadata)
        }
    }
}

extension HTTPResponse {
    /// The server's name for the request, by which its operators find it.
    fileprivate var requestID: String? {
        ["x-amz-request-id", "x-request-id"].lazy.compactMap { headers[$0] }.first
    }
}

/// Collects a body up to a maximum length, beyond which the request fails with `.tooLarge`.
package final class BoundedSink: HTTPBodySink {
    package struct Full: Error {
        let bytesMax: Int
    }

    private let bytesMax: Int
    private let collected = Mutex<[UInt8]>([])

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    package var isInMemory: Bool { true }

    package var bytes: [UInt8] { collected.withLock { $0 } }

    package func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        try collected.withLock { collected in
            guard collected.count + bytes.count <= bytesMax else { throw Full(bytesMax: bytesMax) }
            collected.append(contentsOf: bytes)
        }
    }
}
