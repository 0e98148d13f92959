import Engine
import ProviderSupport
import Synchronization
import Transport

/// Sends requests to one WebDAV server.
struct WebDAVClient: Sendable {
    /// The bytes kept of the body of a refusal, or of any answer except a listing.
    static let answerBytesMax = 256 << 10

    let address: WebDAVAddress
    let transport: HTTPTransport
    let clock: any Clock
    /// nil to send no credentials.
    var login: WebDAVLogin?

    /// Sends a request whose answer has a small body.
    ///
    /// - Returns: Any answer of the server, also a refusal.
    func send(
        _ method: HTTPMethod, _ url: String,
        headers: [(name: String, value: String)] = [], body: HTTPBody = .none,
        awaitsApproval: Bool = true, mayRepeatBody: Bool = true,
        onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)? = nil
    ) async throws(ProviderError) -> WebDAVAnswer {
        let sink = BoundedSink(bytesMax: Self.answerBytesMax)
        do throws(TransportError) {
            let response = try await send(
                method, url, headers: headers, body: body, awaitsApproval: awaitsApproval,
                mayRepeatBody: mayRepeatBody, onProgress: onProgress, into: sink)
            return answer(response, sink.bytes)
        } catch {
            throw ProviderError(error, invalid: .corrupt)
        }
    }

    /// Sends a request whose answer goes to `sink`.
    ///
    /// - Parameters:
    ///   - answerBytes: As in ``HTTPRequest/answerBytes``.
    ///   - waitsForTurn: As in ``HTTPRequest/waitsForTurn``.
    ///   - awaitsApproval: As in ``HTTPRequest/awaitsApproval``.
    ///   - mayRepeatBody: As in ``HTTPRequest/mayRepeatBody``.
    func send(
        _ method: HTTPMethod, _ url: String, headers: [(name: String, value: String)],
        body: HTTPBody = .none, answerBytes: UInt64 = 0, waitsForTurn: Bool = true,
        awaitsApproval: Bool = true, mayRepeatBody: Bool = true,
        onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)? = nil,
        into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        let pass = await login?.pass()
        var request = HTTPRequest(
            method, url, headers: headers, body: body, credentials: pass?.credentials,
            stallTimeout: Self.changes.contains(method) ? .seconds(600) : .seconds(60),
            onProgress: onProgress)
        request.answerBytes = answerBytes
        request.waitsForTurn = waitsForTurn
        request.awaitsApproval = awaitsApproval
        request.mayRepeatBody = mayRepeatBody
        request.usesFreshConnection = FreshConnection.isWanted
        request.reportSigns()
        let response = try await transport.send(request, into: sink)
        if response.status == 401, let pass { login?.refuse(pass) }
        return response
    }

    func answer(_ response: HTTPResponse, _ body: [UInt8]) -> WebDAVAnswer {
        WebDAVAnswer(response: response, body: body, time: clock.wallTime)
    }

    /// Methods that may take a server long to answer, since it may have much to copy.
    private static let changes: Set<HTTPMethod> = [.put, .move, .delete, .mkcol]

    /// Sets or removes properties.
    ///
    /// - Parameter content: The elements within `DAV:propertyupdate`.
    func patch(_ url: String, _ content: String) async throws(ProviderError) -> WebDAVAnswer {
        try await send(
            .proppatch, url, headers: [("Content-Type", Self.xmlType)],
            body: .bytes(Self.xml("D:propertyupdate", content)))
    }

    // MARK: Multistatus

    /// Requests properties.
    ///
    /// - Parameters:
    ///   - properties: The elements within `DAV:prop`, with the prefixes `D` and `A`.
    ///   - waitsForTurn: As in ``HTTPRequest/waitsForTurn``.
    func propfind(
        _ url: String, depth: Int, properties: String, waitsForTurn: Bool = true
    ) async throws(ProviderError) -> Multistatus {
        let request = Self.xml("D:propfind", "<D:prop>\(properties)</D:prop>")
        let headers = [("Depth", String(depth)), ("Content-Type", Self.xmlType)]
        let body = SpooledBody(ofStatus: 207, refusalBytesMax: Self.answerBytesMax)
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await send(
                .propfind, url, headers: headers, body: .bytes(request),
                waitsForTurn: waitsForTurn, into: body)
        } catch {
            guard error.kind == .sink else { throw ProviderError(error, invalid: .corrupt) }
            throw ProviderError(error, storingAnswerOf: "the server", tooLong: .corrupt)
        }
        guard response.status == 207 else { throw answer(response, body.refusal).failure }
        return try Multistatus(body)
    }

    static let xmlType = "application/xml; charset=utf-8"

    static func xml(_ root: String, _ content: String) -> [UInt8] {
        let spaces =
            "xmlns:D=\"\(MultistatusParser.dav)\" xmlns:A=\"\(WebDAVAttributes.space)\""
            + " xmlns:O=\"\(MultistatusParser.ownCloud)\""
        return Array(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><\(root) \(spaces)>\(content)</\(root)>".utf8
        )
    }
}

/// The credentials for requests, which are read again after the server has refused them.
final class WebDAVLogin: Sendable {
    /// The credentials of one request.
    struct Pass: Sendable {
        let credentials: HTTPCredentials?
        /// Counts the credentials, so that a late refusal of the previous ones does not apply to these.
        fileprivate let number: Int
    }

    private enum Standing { case good, refused, renewing }

    private struct State {
        var pass: Pass
        var standing = Standing.good
    }

    private let renew: @Sendable () async -> HTTPCredentials?
    private let state: Mutex<State>

    /// - Parameter renew: Reads the credentials again, at most once after each refusal and never twice at
    ///   a time; nil to keep the old ones.
    init(_ credentials: HTTPCredentials?, renew: @escaping @Sendable () async -> HTTPCredentials?) {
        self.renew = renew
        state = Mutex(State(pass: Pass(credentials: credentials, number: 0)))
    }

    /// Returns the credentials for the next request. The first request after a refusal waits for new ones,
    /// which may take long if a command asks the user; the others use the old ones meanwhile.
    func pass() async -> Pass {
        let held = state.withLock { state -> Pass? in
            guard state.standing == .refused else { return state.pass }
            state.standing = .renewing
            return nil
        }
        if let held { return held }
        let renewed = await renew()
        return state.withLock { state in
            state.standing = .good
            if let renewed {
                state.pass = Pass(credentials: renewed, number: state.pass.number + 1)
            }
            return state.pass
        }
    }

    func refuse(_ pass: Pass) {
        state.withLock { state in
            guard state.standing == .good, state.pass.number == pass.number else { return }
            state.standing = .refused
        }
    }
}
