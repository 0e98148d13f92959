import HTTPTypes
import Hummingbird

/// Admits the requests of the page that `apus web` has opened, and no others.
///
/// A site whose name resolves to 127.0.0.1 (DNS rebinding) is recognised by `Host`, another site by
/// `Origin` and `Sec-Fetch-Site`, and another user or program by the lack of the token.
struct PageAccess: Sendable {
    let token: PageToken
    let port: Int

    private var hosts: [String] { ["127.0.0.1:\(port)", "localhost:\(port)"] }

    /// - Throws: `.refused` with the reason.
    func check(_ head: HTTPRequest, isForPage: Bool) throws(ControlError) {
        guard let host = head.authority?.lowercased(), hosts.contains(host) else {
            throw refusal("the host is not this one")
        }
        let fields = head.headerFields
        if let origin = fields[.origin], origin != "http://\(host)" {
            throw refusal("another site has sent it")
        }
        // A link to the page may be on another site, and has no token.
        if isForPage { return }
        if let site = fields[.secFetchSite], site != "same-origin", site != "none" {
            throw refusal("another site has sent it")
        }
        guard token.isIn(authorization: fields[.authorization]) else {
            throw ControlError(
                .unauthorised, what: Self.what, why: "the token is missing or wrong",
                remedy: "open the URL that `apus web` has printed")
        }
    }

    private func refusal(_ why: String) -> ControlError {
        ControlError(.forbidden, what: Self.what, why: why)
    }

    private static var what: String { "answer the request" }
}

extension HTTPField.Name {
    static let secFetchSite = Self("Sec-Fetch-Site")!
}

/// Applies ``PageAccess`` to every request.
struct PageAccessCheck: RouterMiddleware {
    let access: PageAccess

    func handle(
        _ request: Request, context: BasicRequestContext,
        next: (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        try access.check(request.head, isForPage: PageFile.isServed(at: request.uri.path))
        return try await next(request, context)
    }
}
