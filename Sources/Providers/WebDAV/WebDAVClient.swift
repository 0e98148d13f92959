import Engine
import ProviderSupport
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
        _ method: HTTPRequest.Method, _ url: String,
        headers: [(name: String, value: String)] = [], body: HTTPBody = .none,
        onProgress: (@Sendable (_ sent: UInt64, _ received: UInt64) -> Void)? = nil
    ) async throws(ProviderError) -> WebDAVAnswer {
        let pass = await login?.pass()
        var request = request(method, url, headers, body, pass)
        request.onProgress = onProgress
        do throws(TransportError) {
            let (response, body) = try await transport.send(
                request, bytesMax: Self.answerBytesMax)
            note(response, pass)
            return answer(response, body)
        } catch {
            throw Self.failure(error)
        }
    }

    /// Sends a request whose answer goes to `sink`.
    ///
    /// - Parameter answerBytes: As in ``HTTPRequest/answerBytes``.
    func send(
        _ method: HTTPRequest.Method, _ url: String, headers: [(name: String, value: String)],
        body: HTTPBody = .none, answerBytes: UInt64 = 0, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        let pass = await login?.pass()
        var request = request(method, url, headers, body, pass)
        request.answerBytes = answerBytes
        let response = try await transport.send(request, into: sink)
        note(response, pass)
        return response
    }

    private func note(_ response: HTTPResponse, _ pass: WebDAVLogin.Pass?) {
        if response.status == 401, let pass { login?.refuse(pass) }
    }

    func answer(_ response: HTTPResponse, _ body: [UInt8]) -> WebDAVAnswer {
        WebDAVAnswer(response: response, body: body, time: clock.wallTime)
    }

    /// Methods that may take a server long to answer, since it may have much to copy.
    private static let changes: Set<HTTPRequest.Method> = [.put, .move, .delete, .mkcol]

    private func request(
        _ method: HTTPRequest.Method, _ url: String, _ headers: [(name: String, value: String)],
        _ body: HTTPBody, _ pass: WebDAVLogin.Pass?
    ) -> HTTPRequest {
        var request = HTTPRequest(method, url, headers: headers)
        request.body = body
        request.stallTimeout = Self.changes.contains(method) ? .seconds(600) : .seconds(60)
        request.credentials = pass?.credentials
        return request
    }

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
    /// - Parameter properties: The elements within `DAV:prop`, with the prefixes `D` and `A`.
    func propfind(
        _ url: String, depth: Int, properties: String
    ) async throws(ProviderError) -> Multistatus {
        let request = Self.xml("D:propfind", "<D:prop>\(properties)</D:prop>")
        let headers = [("Depth", String(depth)), ("Content-Type", Self.xmlType)]
        let body = MultistatusBody()
        let response: HTTPResponse
        do throws(TransportError) {
            response = try await send(
                .propfind, url, headers: headers, body: .bytes(request), into: body)
        } catch {
            guard error.kind == .sink else { throw Self.failure(error) }
            let isTooLong = error.cause is MultistatusBody.TooLong
            throw ProviderError(
                isTooLong ? .corrupt : .busy,
                "the server's answer cannot be stored: \(error.cause ?? error)", cause: error)
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

    // MARK: Failures

    static func failure(_ error: TransportError) -> ProviderError {
        let kind: ProviderError.Kind
        switch error.kind {
        case .unreachable, .interrupted, .timedOut, .tls: kind = .unreachable
        case .sink: kind = .sink
        case .source: kind = .source
        case .tooLarge, .invalid: kind = .corrupt
        case .cancelled: kind = .cancelled
        }
        let isCallers = kind == .sink || kind == .source
        return ProviderError(
            kind, error.reason, cause: isCallers ? error.cause ?? error : error)
    }
}
