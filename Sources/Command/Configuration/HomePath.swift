import Control

/// Paths in configuration files, which begin at the home directory of the user who mounts, as the working
/// directory of a service is another one.
struct HomePath {
    /// Absolute.
    let home: String

    /// Returns the absolute path of a text: `~`, `~/…`, an absolute path, or one relative to the home directory.
    ///
    /// - Returns: nil for the home directory of another user, as `~name/…`, and for an empty text.
    func resolve(_ text: String) -> String? {
        guard let relative = relative(text) else { return nil }
        return Path.absolute(relative.hasPrefix("/") ? relative : "\(home)/\(relative)")
    }

    /// Returns the path without the tilde, absolute or relative to the home directory; nil as
    /// ``resolve(_:)`` does.
    func relative(_ text: String) -> String? {
        if text == "~" { return home }
        if text.hasPrefix("~/") { return "./" + text.dropFirst(2) }
        return text.isEmpty || text.hasPrefix("~") ? nil : text
    }
}
