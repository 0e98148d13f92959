import Engine
import Logging
package import ProviderSupport
import Transport

extension WebDAVProvider {
    /// Finds out what kind of server it is, and that the collection is there.
    ///
    /// Nothing is changed there, but for a property of the collection that is set and taken away
    /// again where only that tells whether properties are kept.
    ///
    /// - Parameter renewed: Looks for the credentials again, after the server has refused them; nil
    ///   to go on with the old ones.
    static func connect(
        to address: WebDAVAddress, credentials: Credentials?,
        renewed: @escaping @Sendable () async -> Credentials?, world: SourceWorld,
        pageEntries: Int = 1_000, chunkBytes: UInt64 = Self.chunkBytesUsual
    ) async throws(ProviderError) -> WebDAVProvider {
        let attempt = "open \(address.url)"
        let bare = WebDAVClient(
            address: address, transport: world.transport, clock: world.clock)
        var client = bare
        client.login = WebDAVLogin(try await scheme(for: credentials, bare, attempt)) {
            guard let found = await renewed() else { return nil }
            return try? await scheme(for: found, bare, attempt)
        }
        var server: WebDAVServer
        do throws(ProviderError) {
            server = try await meet(client, world, attempt)
        } catch {
            throw await told(error, client, attempt)
        }
        if !server.keepsProperties {
            server.keepsProperties = await keepsProperties(client, attempt)
        }
        if server.replacing == .conditionally {
            server.uploads = try await uploads(client, attempt)
        }
        if server.hidesDotNames {
            world.logger.warning(
                "the server hides names that begin with a dot, and deletes them with their directory"
            )
        }
        world.logger.info(
            "WebDAV server",
            metadata: [
                "server": "\(server.name)", "replacing": "\(server.replacing)",
                "locks": "\(server.locks)", "properties": "\(server.keepsProperties)",
                "chunks": "\(server.uploads != nil)",
            ])
        return WebDAVProvider(
            client: client, server: server, clock: world.clock, logger: world.logger,
            pageEntries: pageEntries, chunkBytes: chunkBytes)
    }

    /// - Throws: Where there is no WebDAV server, or no collection.
    private static func meet(
        _ client: WebDAVClient, _ world: SourceWorld, _ attempt: String
    ) async throws(ProviderError) -> WebDAVServer {
        let options = try await client.send(.options, client.address.url, attempt: attempt)
        let dav = options.response.headers.all("DAV")
        guard options.isSuccess else { throw options.failure(attempt) }
        guard !dav.isEmpty else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "it does not call itself a WebDAV server", remedy: "check host and path")
        }
        let server = WebDAVServer(dav: dav)
        let probe = WebDAVProvider(
            client: client, server: server, clock: world.clock, logger: world.logger)
        guard let root = try await probe.look(at: .root, attempt), root.isCollection else {
            throw ProviderError(
                .wrongKind, attempt: attempt, reason: "it is no collection",
                remedy: "check the path")
        }
        return server
    }

    /// What is wrong with the path, where it is that: servers have many words for a file that is asked
    /// for as a collection, and some answer as if it were one.
    private static func told(
        _ error: ProviderError, _ client: WebDAVClient, _ attempt: String
    ) async -> ProviderError {
        guard [.unsupported, .missing, .wrongKind].contains(error.kind),
            let name = client.address.path.last.map({ String(decoding: $0, as: UTF8.self) })
        else { return error }
        let found = WebDAVBox<WebDAVEntry>()
        do throws(ProviderError) {
            try await client.propfind(
                client.address.url(client.address.path), depth: 0,
                properties: "<D:resourcetype/><D:getcontentlength/>", attempt: attempt
            ) { found.value = $0 }
        } catch let failure {
            guard failure.kind == .missing else { return error }
            return ProviderError(
                .missing, attempt: attempt, reason: "there is nothing at this path",
                remedy: "check the path, or make the directory there first")
        }
        guard let entry = found.value, entry.presence == .present, !entry.isCollection else {
            return error
        }
        return ProviderError(
            .wrongKind, attempt: attempt,
            reason: "\"\(name)\" is a file, and only a directory can be mounted",
            remedy: "leave its name out to mount the directory that holds it")
    }

    /// Where the server takes uploads in chunks; nil where it does not.
    private static func uploads(
        _ client: WebDAVClient, _ attempt: String
    ) async throws(ProviderError) -> [[UInt8]]? {
        guard let uploads = client.address.uploads else { return nil }
        let answer = try await client.send(
            .propfind, client.address.url(uploads, isCollection: true),
            headers: [("Depth", "0"), ("Content-Type", WebDAVClient.xmlType)],
            body: .bytes(WebDAVClient.xml("D:propfind", "<D:prop><D:resourcetype/></D:prop>")),
            attempt: attempt)
        return answer.isSuccess ? uploads : nil
    }

    /// The same, for a source as a user writes it.
    ///
    /// - Parameters:
    ///   - renewed: Looks for the credentials again, after the server has refused them; nil to go
    ///     on with the old ones.
    ///   - pageEntries: How many entries of a directory make a page.
    ///   - chunkBytes: See ``chunkBytes``.
    package static func connect(
        to source: String, credentials: Credentials? = nil,
        renewed: @escaping @Sendable () async -> Credentials? = { nil }, world: SourceWorld,
        pageEntries: Int = 1_000, chunkBytes: UInt64 = Self.chunkBytesUsual
    ) async throws -> WebDAVProvider {
        let form = try WebDAVSource(parsing: source)
        return try await connect(
            to: form.address, credentials: credentials, renewed: renewed, world: world,
            pageEntries: pageEntries, chunkBytes: chunkBytes)
    }

    /// Chooses how to send a password: as the server asks, so that not every request is refused
    /// first, and none goes out in clear text that need not.
    private static func scheme(
        for credentials: Credentials?, _ client: WebDAVClient, _ attempt: String
    ) async throws(ProviderError) -> HTTPCredentials? {
        switch credentials {
        case nil: return nil
        case .bearer(let token): return .bearer(token.revealed)
        case .password(let user, let password):
            let answer = try await client.send(
                .propfind, client.address.url, headers: [("Depth", "0")], attempt: attempt)
            let offers = answer.response.headers.all("WWW-Authenticate").joined().lowercased()
            let isPlain = answer.status == 401 && !offers.contains("digest")
            guard isPlain || client.address.isSecure && !offers.contains("digest") else {
                return .negotiated(user: user, password: password.revealed)
            }
            return .basic(user: user, password: password.revealed)
        }
    }

    /// Whether properties of our own are kept: some servers say that they do, and do not.
    private static func keepsProperties(
        _ client: WebDAVClient, _ attempt: String
    ) async -> Bool {
        let url = client.address.url
        let value = String(UInt64.random(in: .min ... .max), radix: 16)
        let name = "A:probe-\(value)"
        let headers = [("Content-Type", WebDAVClient.xmlType)]
        func patch(_ content: String) async throws(ProviderError) -> WebDAVAnswer {
            try await client.send(
                .proppatch, url, headers: headers,
                body: .bytes(WebDAVClient.xml("D:propertyupdate", content)), attempt: attempt)
        }
        do throws(ProviderError) {
            let answer = try await patch(
                "<D:set><D:prop><\(name)>\(value)</\(name)></D:prop></D:set>")
            guard answer.isSuccess else { return false }
            let found = WebDAVBox<String>()
            try await client.propfind(url, depth: 0, properties: "<\(name)/>", attempt: attempt) {
                entry in
                found.value = entry.attributes
            }
            _ = try await patch("<D:remove><D:prop><\(name)/></D:prop></D:remove>")
            return found.value == value
        } catch {
            return false
        }
    }
}
