import Engine
import Logging
package import ProviderSupport
import Transport

/// Opens a collection: detects the server and its capabilities.
///
/// Nothing is changed on the server, except that a property of the collection may be set and removed
/// again if that is the only way to find out whether properties are kept.
struct WebDAVConnector {
    let address: WebDAVAddress
    let credentials: Credentials?
    /// Reads the credentials again after the server has refused them; nil to keep the old ones.
    let renewed: @Sendable () async -> Credentials?
    let world: ProviderEnvironment
    var pageEntries = 1_000
    var chunkBytes = WebDAVProvider.chunkBytesUsual

    func connect() async throws(ProviderError) -> WebDAVProvider {
        let client = try await authenticatedClient()
        let server: WebDAVServer
        do throws(ProviderError) {
            server = try await detect(client)
        } catch {
            throw await explained(error, client)
        }
        log(server)
        return WebDAVProvider(
            client: client, server: server, logger: world.logger, pageEntries: pageEntries,
            chunkBytes: chunkBytes, checkInterval: world.checkInterval)
    }

    private func log(_ server: WebDAVServer) {
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
    }

    // MARK: Authentication

    private func authenticatedClient() async throws(ProviderError) -> WebDAVClient {
        let bare = WebDAVClient(address: address, transport: world.transport, clock: world.clock)
        var client = bare
        let renewed = renewed
        client.login = WebDAVLogin(try await Self.scheme(for: credentials, bare)) {
            guard let found = await renewed() else { return nil }
            return try? await Self.scheme(for: found, bare)
        }
        return client
    }

    /// Chooses Digest or Basic as the server asks, so that not every request is refused first, and no
    /// password is sent in clear text needlessly.
    private static func scheme(
        for credentials: Credentials?, _ client: WebDAVClient
    ) async throws(ProviderError) -> HTTPCredentials? {
        switch credentials {
        case nil: return nil
        case .bearer(let token): return .bearer(token.revealed)
        case .password(let user, let password):
            let answer = try await client.send(
                .propfind, client.address.url, headers: [("Depth", "0")])
            let offers = answer.response.headers.all("WWW-Authenticate").joined().lowercased()
            let isBasic =
                !offers.contains("digest") && (answer.status == 401 || client.address.isSecure)
            return isBasic
                ? .basic(user: user, password: password.revealed)
                : .negotiated(user: user, password: password.revealed)
        }
    }

    // MARK: Detection

    /// - Throws: If there is no WebDAV server, or no collection.
    private func detect(_ client: WebDAVClient) async throws(ProviderError) -> WebDAVServer {
        let options = try await client.send(.options, address.url)
        guard options.isSuccess else { throw options.failure }
        let dav = options.response.headers.all("DAV")
        guard !dav.isEmpty else {
            throw ProviderError(
                .unsupported, "it does not identify itself as a WebDAV server",
                remedy: "check host and path")
        }
        var server = WebDAVServer(dav: dav)
        let root = try await WebDAVLookup(client: client, server: server).entry(at: .root)
        guard let root, root.isCollection else {
            throw ProviderError(.wrongKind, "it is not a collection", remedy: "check the path")
        }
        if !server.keepsProperties, world.mayTryProperties {
            server.keepsProperties = await keepsProperties(client)
        }
        if server.replacing == .conditionally { server.uploads = try await uploads(client) }
        return server
    }

    /// Returns the path that takes uploads in chunks, if the server has one.
    private func uploads(_ client: WebDAVClient) async throws(ProviderError) -> [[UInt8]]? {
        guard let uploads = address.uploads else { return nil }
        let answer = try await client.send(
            .propfind, address.url(uploads, isCollection: true),
            headers: [("Depth", "0"), ("Content-Type", WebDAVClient.xmlType)],
            body: .bytes(WebDAVClient.xml("D:propfind", "<D:prop><D:resourcetype/></D:prop>")))
        return answer.isSuccess ? uploads : nil
    }

    /// Tries whether the server keeps properties of our own: some only report success.
    private func keepsProperties(_ client: WebDAVClient) async -> Bool {
        let value = String(UInt64.random(in: .min ... .max), radix: 16)
        let name = "A:probe-\(value)"
        do throws(ProviderError) {
            let answer = try await client.patch(
                address.url, "<D:set><D:prop><\(name)>\(value)</\(name)></D:prop></D:set>")
            guard answer.isSuccess else { return false }
            let multistatus = try await client.propfind(
                address.url, depth: 0, properties: "<\(name)/>")
            var found: String?
            while let entry = try multistatus.next() { found = entry.attributes }
            _ = try await client.patch(
                address.url, "<D:remove><D:prop><\(name)/></D:prop></D:remove>")
            return found == value
        } catch {
            return false
        }
    }

    /// Explains a path that does not exist or names a file: servers answer a request for it as a
    /// collection in many ways, some even with success.
    private func explained(
        _ error: ProviderError, _ client: WebDAVClient
    ) async -> ProviderError {
        guard [.unsupported, .missing, .wrongKind].contains(error.kind),
            let name = address.path.last.map({ String(decoding: $0, as: UTF8.self) })
        else { return error }
        var found: WebDAVEntry?
        do throws(ProviderError) {
            let multistatus = try await client.propfind(
                address.url(address.path), depth: 0,
                properties: "<D:resourcetype/><D:getcontentlength/>")
            while let entry = try multistatus.next() { found = entry }
        } catch let failure {
            guard failure.kind == .missing else { return error }
            return ProviderError(
                .missing, "there is nothing at this path",
                remedy: "check the path, or create the directory there first")
        }
        guard let entry = found, entry.presence == .present, !entry.isCollection else {
            return error
        }
        return ProviderError(
            .wrongKind, "\"\(name)\" is a file, and only a directory can be mounted",
            remedy: "leave its name out to mount the directory that holds it")
    }
}

extension WebDAVProvider {
    /// Opens a source as a user writes it.
    ///
    /// - Parameters:
    ///   - renewed: Reads the credentials again after the server has refused them; nil to keep the
    ///     old ones.
    ///   - pageEntries: The number of entries in a page of a listing.
    ///   - chunkBytes: The size of a chunk of a large file.
    package static func connect(
        to source: String, credentials: Credentials? = nil,
        renewed: @escaping @Sendable () async -> Credentials? = { nil }, world: ProviderEnvironment,
        pageEntries: Int = 1_000, chunkBytes: UInt64 = Self.chunkBytesUsual
    ) async throws -> WebDAVProvider {
        try await WebDAVConnector(
            address: try WebDAVSource(parsing: source).address, credentials: credentials,
            renewed: renewed, world: world, pageEntries: pageEntries, chunkBytes: chunkBytes
        ).connect()
    }
}
