import Engine
import Foundation
import Glibc
import ProviderSupport
import Synchronization
import Transport

/// Calls rclone's remote control.
struct RcloneClient: Sendable {
    let daemon: RcloneDaemon
    let transport: HTTPTransport
    let clock: any Clock
    var limits = RcloneLimits()

    /// The limit of an answer other than a listing.
    private static let answerBytesMax = 512 << 20
    private static let refusalBytesMax = 64 << 10

    /// Calls one of rclone's functions.
    ///
    /// - Parameter limit: The longest time that rclone may take to answer; nil if it may take any.
    func call<Answer: Decodable & Sendable>(
        _ function: String, _ input: RcloneInput,
        within limit: Duration? = .seconds(600)
    ) async throws(ProviderError) -> Answer {
        await applyBandwidth()
        async let _ = pulse.watch()
        let answer: (response: HTTPResponse, body: [UInt8])
        do {
            var request = try request(function, input)
            request.stallTimeout = limit
            answer = try await transport.send(request, bytesMax: Self.answerBytesMax)
        } catch {
            throw Self.failure(error)
        }
        do {
            return try Self.read(answer.response, answer.body, to: input)
        } catch {
            if error.kind == .unauthorized { await forgetRemotes() }
            throw error
        }
    }

    /// Lists a directory: the answer comes in one piece of any size.
    func list(_ input: RcloneInput) async throws(ProviderError) -> SpooledBody {
        await applyBandwidth()
        async let _ = pulse.watch()
        let body = SpooledBody(ofStatus: 200, refusalBytesMax: Self.refusalBytesMax)
        let response: HTTPResponse
        do {
            var request = try request("operations/list", input)
            request.stallTimeout = .seconds(600)
            response = try await transport.send(request, into: body)
        } catch {
            guard error.kind == .sink else { throw Self.failure(error) }
            throw ProviderError(error, storingAnswerOf: "rclone", tooLong: .unsupported)
        }
        guard response.status == 200 else {
            do {
                let _: RcloneNothing = try Self.read(response, body.refusal, to: input)
            } catch {
                if error.kind == .unauthorized { await forgetRemotes() }
                throw error
            }
            throw ProviderError(.corrupt, "status \(response.status)")
        }
        return body
    }

    /// Makes rclone open its remotes again, with its present configuration.
    ///
    /// rclone reads a changed configuration again, but keeps the remotes that it has opened.
    private func forgetRemotes() async {
        guard let request = try? request("fscache/clear", RcloneInput()) else { return }
        _ = try? await transport.send(request, bytesMax: Self.answerBytesMax)
    }

    // MARK: Bandwidth

    /// Makes rclone keep to the bandwidth, from now on and after each later change of it.
    func followBandwidth() {
        // The transport outlives the client.
        transport.onBandwidthChange { [weak daemon, weak transport, clock, limits] _ in
            guard let daemon, let transport else { return }
            let client = RcloneClient(
                daemon: daemon, transport: transport, clock: clock, limits: limits)
            Task { await client.applyBandwidth() }
        }
    }

    /// Tells the running rclone the bandwidth, unless it knows it.
    private func applyBandwidth() async {
        guard let process = daemon.keeper.process else { return }
        let bandwidth = transport.bandwidth
        guard limits.begin(bandwidth, of: process) else { return }
        var input = RcloneInput()
        input.rate = RcloneLimits.text(bandwidth)
        guard let request = try? request("core/bwlimit", input),
            let answer = try? await transport.send(request), answer.response.isSuccess
        else { return limits.forget() }
    }

    /// Runs beside each call and kills an rclone that hangs, so that the call fails.
    private var pulse: RclonePulse<pid_t> {
        RclonePulse(
            clock: clock, process: { [keeper = daemon.keeper] in keeper.process },
            isSilent: isSilent, kill: daemon.keeper.kill)
    }

    /// Whether rclone fails to answer a call that needs no work. One that is just starting, or has
    /// ended, does not hang.
    @Sendable private func isSilent() async -> Bool {
        do throws(TransportError) {
            var request = try request("rc/noop", RcloneInput())
            request.timeout = RclonePulse<pid_t>.answerMax
            _ = try await transport.send(request)
            return false
        } catch {
            return error.kind == .timedOut
        }
    }

    /// Decodes an answer.
    ///
    /// - Throws: The failure that rclone reports; `.corrupt` for an answer of another form.
    static func read<Answer: Decodable>(
        _ response: HTTPResponse, _ body: [UInt8], to input: RcloneInput
    ) throws(ProviderError) -> Answer {
        guard response.isSuccess else {
            let fault = try? JSONDecoder().decode(RcloneFault.self, from: Data(body))
            throw RcloneFailure.error(
                reason: fault?.error ?? "status \(response.status)",
                names: input.names)
        }
        do {
            return try JSONDecoder().decode(Answer.self, from: Data(body))
        } catch {
            throw ProviderError(.corrupt, "rclone's answer cannot be read", cause: error)
        }
    }

    /// Calls a function that makes a change, and waits for its end even if the task is cancelled:
    /// rclone is then told to stop, so that nothing changes after this has returned.
    ///
    /// - Parameter limit: As in ``call(_:_:within:)``; by default it suffices for a copy of
    ///   a large object.
    func change(
        _ function: String, _ input: RcloneInput, group: String = newGroup(),
        within limit: Duration? = .seconds(3_600)
    ) async throws(ProviderError) {
        guard !Task.isCancelled else {
            throw ProviderError(.cancelled, "it was cancelled")
        }
        var input = input
        input.jobGroup = group
        input.config = RcloneInput.Config()
        let grouped = input
        // Not a child task, so that cancellation does not end the wait for rclone.
        let work = Task { () async -> Result<RcloneNothing, ProviderError> in
            do throws(ProviderError) {
                return .success(try await call(function, grouped, within: limit))
            } catch {
                return .failure(error)
            }
        }
        let stopping = Mutex<Task<Void, Never>?>(nil)
        let result = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            let task = Task {
                await stop(group)
                work.cancel()
            }
            stopping.withLock { $0 = task }
        }
        if let stopping = stopping.withLock({ $0 }) {
            stopping.cancel()
            await stopping.value
        }
        switch result {
        case .success: return
        case .failure(let error):
            guard Task.isCancelled else { throw error }
            throw ProviderError(.cancelled, "it was cancelled", cause: error)
        }
    }

    /// Tells rclone repeatedly to stop a group of jobs, until the task is cancelled.
    private func stop(_ group: String) async {
        let input = RcloneInput(group: group)
        for _ in 0..<100 where !Task.isCancelled {
            // rclone may not have started the job yet, so once is not enough.
            let _: RcloneNothing? = try? await call("job/stopgroup", input)
            try? await clock.sleep(until: clock.uptime + .milliseconds(100))
        }
    }

    /// Returns a name for a group of jobs, which can be watched and stopped by it.
    static func newGroup() -> String { "apus-\(UInt64.random(in: 0 ... .max))" }

    /// Hands a range of a file to `sink` as it arrives.
    func read(
        path: String, range: Range<UInt64>, into sink: RcloneReadSink
    ) async throws(ProviderError) {
        var request = HTTPRequest(
            .get, "http://rclone/\(path)",
            headers: [(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)")])
        request.answerBytes = UInt64(range.count)
        authorise(&request)
        await applyBandwidth()
        async let _ = pulse.watch()
        do {
            _ = try await transport.send(request, into: sink)
        } catch {
            if error.kind == .sink, let failure = sink.failure { throw failure }
            throw Self.failure(error)
        }
        if let failure = sink.failure { throw failure }
    }

    private func request(
        _ function: String, _ input: RcloneInput
    ) throws(TransportError) -> HTTPRequest {
        var request = HTTPRequest(.post, "http://rclone/\(function)")
        request.headers = [(name: "Content-Type", value: "application/json")]
        do {
            request.body = .bytes(Array(try JSONEncoder().encode(input)))
        } catch {
            throw TransportError(.invalid, attempt: function, reason: "\(error)")
        }
        authorise(&request)
        return request
    }

    private func authorise(_ request: inout HTTPRequest) {
        request.unixSocketPath = daemon.directory.socketPath
        request.credentials = .basic(user: daemon.user, password: daemon.password)
    }

    static func failure(_ error: TransportError) -> ProviderError {
        let kind: ProviderError.Kind =
            switch error.kind {
            case .cancelled: .cancelled
            case .sink: .sink
            case .tooLarge: .unsupported
            default: .unreachable
            }
        return ProviderError(
            kind, "rclone does not answer: \(error.reason)",
            cause: error.cause ?? error)
    }
}
