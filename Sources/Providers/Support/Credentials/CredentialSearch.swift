import Glibc

/// Searches the credentials of a source: in the environment, in the configuration file, in
/// `~/.netrc`.
///
/// The first match is used. The command line is not searched, as all users of the machine can see
/// it.
package struct CredentialSearch: Sendable {
    /// Returns an environment variable.
    package var variable: @Sendable (String) -> String?

    package init(
        variable: @escaping @Sendable (String) -> String? = { name in
            getenv(name).map { String(cString: $0) }
        }
    ) {
        self.variable = variable
    }

    /// - Parameters:
    ///   - source: The source's identity: `webdav+https://host/path`.
    ///   - host: Its host, without port.
    ///   - variables: The prefix of environment variables: `APUS_WEBDAV` for `APUS_WEBDAV_BEARER`.
    ///   - commands: Runs commands that print a password.
    ///   - normalised: Returns the identity of a source of this kind; nil for any other text.
    /// - Returns: nil if there are none.
    /// - Throws: `.unavailable` if a file cannot be read, must not be trusted, or is malformed. The
    ///   message never quotes its contents.
    package func find(
        source: String, host: String, variables: String, commands: SecretCommands,
        normalised: (String) -> String?
    ) async throws(SourceError) -> Credentials? {
        if let found = try fromEnvironment(variables) { return found }
        if let path = configurationFile, let file = try PrivateFile(at: path) {
            let entries = try Self.entries(of: file, path, normalised)
            if let entry = entries.entry(for: source) {
                return try await entry.credentials(commands)
            }
        }
        if let path = netrcFile, let text = try PrivateFile.text(at: path) {
            return Netrc(parsing: text).credentials(for: host)
        }
        return nil
    }

    /// - Throws: Also if other users may access the file, unless it holds no credentials, but only mounts.
    private static func entries(
        of file: PrivateFile, _ path: String, _ normalised: (String) -> String?
    ) throws(SourceError) -> CredentialsFile {
        let entries = try CredentialsFile(parsing: file.text, path: path, normalised: normalised)
        if let exposure = file.exposure, !entries.isEmpty { throw exposure }
        return entries
    }

    /// Whether a configuration file holds credentials.
    ///
    /// - Throws: `.unavailable` if other users may access it then, or if it cannot be read.
    package func holdsCredentials(configuration path: String) throws(SourceError) -> Bool {
        guard let file = try PrivateFile(at: path) else { return false }
        return try !Self.entries(of: file, path, { _ in nil }).isEmpty
    }

    /// `$XDG_CONFIG_HOME/apus/config.toml`, by default `~/.config/apus/config.toml`.
    package var configurationFile: String? {
        let configuration = value("XDG_CONFIG_HOME") ?? value("HOME").map { $0 + "/.config" }
        return configuration.map { $0 + "/apus/config.toml" }
    }

    /// `$NETRC`, by default `~/.netrc`.
    package var netrcFile: String? { value("NETRC") ?? value("HOME").map { $0 + "/.netrc" } }

    /// - Throws: `.unavailable` for a user without a password, or the reverse.
    package func fromEnvironment(_ variables: String) throws(SourceError) -> Credentials? {
        if let token = value("\(variables)_BEARER") { return .bearer(Secret(token)) }
        let user = value("\(variables)_USERNAME")
        let password = value("\(variables)_PASSWORD")
        if let user, let password { return .password(user: user, Secret(password)) }
        guard user == nil, password == nil else {
            throw SourceError(
                .unavailable,
                "only one of \(variables)_USERNAME and \(variables)_PASSWORD is set",
                remedy: "set both or neither")
        }
        return nil
    }

    private func value(_ name: String) -> String? {
        variable(name).flatMap { $0.isEmpty ? nil : $0 }
    }
}
