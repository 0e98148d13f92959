package import FoundationEssentials

/// Which daemon answers, and for what.
package struct About: Codable, Hashable, Sendable {
    /// Of the program: `0.1.0`.
    package var version: String
    /// Of the control API; it grows when a client of the one before would misread an answer.
    package var api: Int
    /// The daemon's process.
    package var pid: Int32
    /// Absolute, without symbolic links.
    package var mountPoint: String
    /// As it was given to `apus mount`.
    package var source: String
    /// Absolute.
    package var stateDirectory: String
    /// When the folder became usable.
    package var since: Date

    /// The API that this code speaks.
    package static let currentAPI = 1

    package init(
        version: String, api: Int = Self.currentAPI, pid: Int32, mountPoint: String,
        source: String, stateDirectory: String, since: Date
    ) {
        self.version = version
        self.api = api
        self.pid = pid
        self.mountPoint = mountPoint
        self.source = source
        self.stateDirectory = stateDirectory
        self.since = since
    }
}
