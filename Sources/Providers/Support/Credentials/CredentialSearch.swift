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
        if let path = configurationFile, let text = try PrivateFile.text(at: path) {
            let file = try CredentialsFile(
                parsing: text, path: path, normalised: normalised)
            if let entry = file.entry(for: source) { return try await entry.credentials(commands) }
        }
        if let path = netrcFile, let text = try PrivateFile.text(at: path) {
            return Netrc(parsing: text).credentials(for: host)
        }
        return nil
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
