import Engine
import Logging
import ProviderSupport
import Synchronization
import Transport

/// Sends signed requests to one bucket.
///
/// After an answer that reveals a wrong clock, a wrong region or expired credentials it corrects each
/// once per request and repeats the request. It repeats nothing else.
final class S3Client: Sendable {
    /// A request before it is signed.
    struct Call: Sendable {
        var method: HTTPMethod
        /// nil for the bucket.
        var key: S3Key?
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var body = HTTPBody.none
        var payloadHash = S3Signer.emptyHash
        /// As in ``HTTPRequest/answerBytes``.
        var answerBytes: UInt64 = 0
        /// As in ``HTTPRequest/waitsForTurn``.
        var waitsForTurn = true
        /// As in ``HTTPRequest/awaitsApproval``.
        var awaitsApproval = true
        var onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)?
        /// The longest time without a byte, including the store's own work.
        var stallTimeout: Duration? = .seconds(60)

        mutating func setBody(_ bytes: [UInt8]) {
            body = .bytes(bytes)
            payloadHash = S3Signer.hash(bytes)
        }
    }

    let settings: S3Settings
    private let wire: any S3Wire
    let clock: any Clock
    private let credentials: S3CredentialCache?
    private let logger: Logger

    /// Facts learned from answers.
    private struct Learned {
        var endpoint: S3Endpoint
        var region: String
        /// By how much the store's clock is ahead of ours.
        var skew = Duration.zero
    }

    private let learned: Mutex<Learned>
    private let signingKeys = S3SigningKeys()

    /// - Parameter credentials: nil to sign nothing.
    init(
        settings: S3Settings, endpoint: S3Endpoint, region: String, wire: any S3Wire,
        clock: any Clock, credentials: S3CredentialCache?, logger: Logger
    ) {
        self.settings = settings
        self.wire = wire
        self.clock = clock
        self.credentials = credentials
        self.logger = logger
        learned = Mutex(Learned(endpoint: endpoint, region: region))
    }

    /// The origin of the credentials that requests are signed with; nil if they are not signed.
    var credentialOrigin: S3CredentialOrigin? { credentials?.origin }

    /// Sends a request and collects a small answer.
    func ask(
        _ call: Call, bytesMax: Int = S3Element.bytesMax
    ) async throws(ProviderError) -> (response: HTTPResponse, body: [UInt8]) {
        var sink = BoundedSink(bytesMax: bytesMax)
        let response = try await perform(call) {
            sink = BoundedSink(bytesMax: bytesMax)
            return sink
        }
        return (response, sink.bytes)
    }

    /// Sends a request and hands the answer's body to a sink.
    ///
    /// - Parameter makeSink: Returns the sink for each try, which receives the body of a refusal, too.
    func perform(
        _ call: Call, into makeSink: () -> any S3Sink
    ) async throws(ProviderError) -> HTTPResponse {
        var corrections: Set<Correction> = []
        while true {
            try throwIfCancelled()
            let signer = try await currentCredentials()
            let sink = makeSink()
            let response = try await send(call, signer, into: sink)
            if response.isSuccess { return response }
            var refusal = S3Refusal(response, body: sink.refusal, now: clock.wallTime)
            if call.method == .head, refusal.code.isEmpty, ![404, 412].contains(refusal.status) {
                refusal = try await explained(refusal, of: call, signer)
            }
            guard let correction = correction(after: refusal, signer),
                corrections.insert(correction).inserted
            else { throw Self.error(refusal, of: call) }
            apply(correction, refusal, signer)
            if correction == .credentials, try await currentCredentials() == signer {
                // They have not been replaced, so they would be refused again.
                throw refusal.error()
            }
        }
    }

    /// Repeats a refused HEAD as a GET, whose answer has a body that gives the reason.
    private func explained(
        _ refusal: S3Refusal, of head: Call, _ credentials: S3Credentials?
    ) async throws(ProviderError) -> S3Refusal {
        var call = head
        call.method = .get
        call.headers.append(("Range", "bytes=0-0"))
        let sink = BoundedSink(bytesMax: 64 << 10)
        let response = try await send(call, credentials, into: sink)
        let explained = S3Refusal(response, body: sink.refusal, now: clock.wallTime)
        return explained.status == refusal.status && !explained.code.isEmpty ? explained : refusal
    }

    // MARK: Sending

    private func currentCredentials() async throws(ProviderError) -> S3Credentials? {
        guard let credentials else { return nil }
        do {
            return try await credentials.credentials(by: clock)
        } catch {
            let kind: ProviderError.Kind =
                switch error.kind {
                case .final: .unauthorized
                case .passing: .unreachable
                case .cancelled: .cancelled
                }
            throw ProviderError(kind, error.reason, remedy: error.remedy, cause: error)
        }
    }

    private func send(
        _ call: Call, _ credentials: S3Credentials?, into sink: any HTTPBodySink
    ) async throws(ProviderError) -> HTTPResponse {
        do {
            return try await wire.send(request(call, credentials), into: sink)
        } catch {
            throw Self.error(error)
        }
    }

    private func request(_ call: Call, _ credentials: S3Credentials?) -> HTTPRequest {
        let learned = learned.withLock { $0 }
        let endpoint = learned.endpoint
        let path = endpoint.path(call.key)
        let now = Timestamp(nanoseconds: clock.wallTime.nanoseconds + learned.skew.nanoseconds)
        var headers = call.headers
        if settings.requesterPays { headers.append(("x-amz-request-payer", "requester")) }
        if let credentials {
            headers += [
                ("x-amz-date", S3Signer.date(now)), ("x-amz-content-sha256", call.payloadHash),
            ]
            if let token = credentials.sessionToken {
                headers.append(("x-amz-security-token", token))
            }
            let signed = S3Signer.Request(
                method: call.method.rawValue, path: path, query: call.query,
                headers: headers + [("host", endpoint.authority)], payloadHash: call.payloadHash)
            let signer = S3Signer(
                accessKey: credentials.accessKey, secretKey: credentials.secretKey,
                region: learned.region, keys: signingKeys)
            headers.append(("Authorization", signer.authorization(signed, at: now)))
        }
        var request = HTTPRequest(
            call.method,
            endpoint.url(path: path, query: S3Signer.canonicalQuery(call.query)),
            headers: headers, body: call.body)
        request.stallTimeout = call.stallTimeout
        request.onProgress = call.onProgress
        request.answerBytes = call.answerBytes
        request.waitsForTurn = call.waitsForTurn
        request.awaitsApproval = call.awaitsApproval
        request.usesFreshConnection = FreshConnection.isWanted
        request.reportSigns()
        return request
    }

    static func error(_ error: TransportError) -> ProviderError {
        if let problem = error.cause as? S3AnswerProblem {
            return ProviderError(problem.kind, problem.reason, cause: problem.cause)
        }
        if error.cause is BoundedSink.Full {
            return ProviderError(.corrupt, "the store's answer is too long")
        }
        return ProviderError(error, invalid: .unreachable)
    }

    /// Explains a refusal to the user. A store that accepts no such key says little more than that.
    private static func error(_ refusal: S3Refusal, of call: Call) -> ProviderError {
        let error = refusal.error()
        guard error.kind == .unsupported, let key = call.key else { return error }
        if refusal.code == "KeyTooLongError" {
            return ProviderError(
                .unsupported, error.reason,
                remedy: "shorten its name, or that of a directory above it", cause: refusal)
        }
        guard let part = key.oddPart else { return error }
        return ProviderError(
            .unsupported, "the store takes no key with \(part) in it: \(error.reason)",
            remedy: S3Failure.renaming, cause: refusal)
    }

    // MARK: Learning

    private enum Correction: Hashable {
        case clock
        case region
        case credentials
    }

    private func correction(
        after refusal: S3Refusal, _ credentials: S3Credentials?
    ) -> Correction? {
        switch refusal.code {
        case "RequestTimeTooSkewed": return refusal.skew == nil ? nil : .clock
        // The last two concern permanent keys, which the user may have replaced.
        case "ExpiredToken", "TokenRefreshRequired", "InvalidToken", "InvalidAccessKeyId",
            "SignatureDoesNotMatch":
            return credentials == nil ? nil : .credentials
        default: break
        }
        let region = learned.withLock { $0.region }
        let isElsewhere =
            refusal.status == 301 || refusal.status == 307 || refusal.status == 400
        if isElsewhere, let named = refusal.region, named != region { return .region }
        // If the store gives no reason, a wrong clock is the likeliest.
        let isFarOff = refusal.skew.map { abs($0.components.seconds) > 600 } ?? false
        let isUnexplained = refusal.code.isEmpty && refusal.status == 403
        return isFarOff && isUnexplained ? .clock : nil
    }

    private func apply(
        _ correction: Correction, _ refusal: S3Refusal, _ credentials: S3Credentials?
    ) {
        switch correction {
        case .clock:
            guard let skew = refusal.skew else { return }
            learned.withLock { $0.skew = skew }
            logger.warning(
                "store's clock differs from this machine's", metadata: ["skew": "\(skew)"])
        case .region:
            guard let region = refusal.region else { return }
            learned.withLock { learned in
                learned.region = region
                guard settings.endpoint == nil,
                    let endpoint = S3Endpoint.aws(
                        region: region, bucket: settings.bucket, isPathStyle: settings.isPathStyle)
                else { return }
                learned.endpoint = endpoint
            }
            logger.info("bucket is in another region", metadata: ["region": "\(region)"])
        case .credentials:
            if let credentials { self.credentials?.drop(credentials) }
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
