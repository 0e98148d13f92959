package import Engine
import Logging
package import ProviderSupport
import SystemCalls

/// The `webdav:` forms of a ``Source``.
///
/// ```
/// webdav+https://HOST[:PORT]/PATH    webdav://HOST/PATH is the same
/// webdav+http://HOST[:PORT]/PATH
/// …?names=caseless
/// ```
/// PATH names a collection. In it, `%` and two hexadecimal digits stand for a byte, every other
/// character for itself. User and password are refused, since `ps` would show them to all users.
package struct WebDAVSource: SourceForm, Hashable {
    package static let schemes = ["webdav", "webdav+http", "webdav+https"]
    package static let forms = "webdav+https://HOST/PATH, webdav+https://HOST/PATH?names=caseless"

    let address: WebDAVAddress
    /// The names that the server takes for one; nil to find out.
    let names: NameMatching?

    /// - Parameter source: The text, scheme included.
    package init(parsing source: String) throws(SourceError) {
        let scheme = source.prefix { $0 != ":" }.lowercased()
        guard Self.schemes.contains(scheme) else {
            throw SourceError(
                .misspelled, "\"\(scheme)\" is not WebDAV", remedy: "write \(Self.forms)")
        }
        let text = source.dropFirst(scheme.count + 1)
        guard text.hasPrefix("//") else {
            throw SourceError(
                .misspelled, "no host follows \"\(scheme):\"",
                remedy: "write \(Self.forms)")
        }
        let rest = text.dropFirst(2)
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        if authority.contains("@") {
            // The text may contain a password, so it is not repeated.
            throw SourceError(
                .misspelled,
                "a source must not contain a user or password, since all users could see it",
                remedy: "put them into ~/.netrc or ~/.config/apus/config.toml")
        }
        let isSecure = scheme != "webdav+http"
        let (host, port) = try Self.split(authority, isSecure: isSecure)
        let place = rest.dropFirst(authority.count)
        let written = place.prefix { $0 != "?" }
        let path = try Self.path(written)
        let values = try SourceParameters.values(
            of: place.dropFirst(written.count + 1), names: ["names"], owner: "a WebDAV source",
            hint: "it has only names; write a question mark in a path as %3F")
        names = try NameProbe.matching(values["names"], Self.forms)
        address = WebDAVAddress(isSecure: isSecure, host: host, port: port, path: path)
    }

    /// A server in PHP has a process for each request, by default five of them.
    package var requestsAtFirst: Int { address.isPHP ? 8 : 16 }

    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        let commands = SecretCommands(world)
        let credentials = try await findCredentials(commands)
        if credentials != nil, !address.isSecure, !isLocal {
            world.logger.warning(
                "credentials go out unencrypted", metadata: ["source": "\(identity)"])
        }
        do throws(ProviderError) {
            var provider = try await WebDAVConnector(
                address: address, credentials: credentials,
                renewed: { await renewedCredentials(commands, world.logger) }, world: world
            ).connect()
            provider.traits.names = await world.names(of: provider, stated: names)
            return provider
        } catch {
            let (reason, remedy) =
                error.kind == .unauthorized
                ? (error.reason, Self.remedy(refused: credentials)) : error.advice
            throw SourceError(
                .unavailable, "cannot open \(address.url): \(reason)", remedy: remedy, cause: error)
        }
    }

    private static func remedy(refused credentials: Credentials?) -> String {
        let search = CredentialSearch()
        let isOfEnvironment = (try? search.fromEnvironment(variables)) != nil
        let file = search.configurationFile ?? "config.toml"
        switch credentials {
        case nil:
            return "none were found: put them into \(file) or ~/.netrc"
        case .bearer:
            let place = isOfEnvironment ? "\(variables)_BEARER" : "the entry's bearer in \(file)"
            return "the bearer token was refused: correct \(place), or give a user and a password"
        case .password(let user, _):
            let place =
                isOfEnvironment
                ? "\(variables)_USERNAME and \(variables)_PASSWORD" : "\(file) or ~/.netrc"
            return "the password of \"\(user)\" was refused: correct \(place)"
        }
    }

    private static let variables = "APUS_WEBDAV"

    private func findCredentials(
        _ commands: SecretCommands
    ) async throws(SourceError) -> Credentials? {
        try await CredentialSearch().find(
            source: identity, host: address.host, variables: Self.variables, commands: commands,
            normalised: { (try? WebDAVSource(parsing: $0))?.identity })
    }

    /// Returns the current credentials; nil if they cannot be read, for example while a file is written.
    private func renewedCredentials(
        _ commands: SecretCommands, _ logger: Logger
    ) async -> Credentials? {
        do throws(SourceError) {
            return try await findCredentials(commands)
        } catch {
            logger.warning("credentials cannot be read again", metadata: ["reason": "\(error)"])
            return nil
        }
    }

    private var isLocal: Bool {
        ["localhost", "[::1]"].contains(address.host) || address.host.hasPrefix("127.")
    }

    package func extendedAttributeSpace(bytesMax: Int) -> ExtendedAttributeSpace {
        WebDAVAttributes.room
    }

    // MARK: Names

    package var description: String {
        identity + (names.map { "?names=\($0.rawValue)" } ?? "")
    }

    package var identity: String {
        let url = address.url
        return "webdav+" + (url.hasSuffix("/") ? String(url.dropLast()) : url)
    }

    package var stateName: String {
        StateName.make(kind: "webdav", label: address.host.utf8, of: identity.utf8)
    }

    // MARK: Parsing

    private static func split(
        _ authority: Substring, isSecure: Bool
    ) throws(SourceError) -> (host: String, port: UInt16?) {
        let isBracketed = authority.hasPrefix("[")
        let end =
            isBracketed
            ? authority.firstIndex(of: "]").map(authority.index(after:)) ?? authority.endIndex
            : authority.firstIndex(of: ":") ?? authority.endIndex
        let host = authority[..<end].lowercased()
        let inner = isBracketed ? host.dropFirst().dropLast() : host[...]
        let letters = isBracketed ? "0123456789abcdef:." : "abcdefghijklmnopqrstuvwxyz0123456789-._"
        guard !inner.isEmpty, inner.allSatisfy(letters.contains),
            !isBracketed || host.hasSuffix("]")
        else {
            throw SourceError(
                .misspelled, "\"\(host)\" is not a host name", remedy: "write \(forms)")
        }
        let digits = authority[end...]
        if digits.isEmpty { return (host, nil) }
        guard digits.hasPrefix(":"), let port = UInt16(digits.dropFirst()), port > 0 else {
            throw SourceError(
                .misspelled, "\"\(digits)\" is not a port",
                remedy: "write webdav+https://HOST:PORT/PATH with a PORT from 1 to 65535")
        }
        return (host, port == (isSecure ? 443 : 80) ? nil : port)
    }

    private static func path(_ text: Substring) throws(SourceError) -> [[UInt8]] {
        guard !text.contains("#") else {
            throw SourceError(
                .misspelled, "a WebDAV source has no part after a number sign",
                remedy: "write a number sign in a path as %23")
        }
        var components: [[UInt8]] = []
        for part in text.split(separator: "/") {
            guard let bytes = PercentCoding.decode(part), !bytes.contains(0) else {
                throw SourceError(
                    .misspelled,
                    "\"\(part)\" in the path has a percent sign that does not encode a byte",
                    remedy: "write a percent sign as %25")
            }
            guard bytes != [0x2E], bytes != [0x2E, 0x2E] else {
                throw SourceError(
                    .misspelled, "\"\(part)\" is not allowed in the path",
                    remedy: "write the path without . and ..")
            }
            components.append(bytes)
        }
        return components
    }
}
