package import FoundationEssentials

/// The identity of a daemon and its mount.
package struct About: Codable, Hashable, Sendable {
    /// The program's version: `0.1.0`.
    package var version: String
    /// The API's version, which grows if clients of the previous version would misread an answer.
    package var api: Int
    /// The daemon's process id.
    package var pid: Int32
    /// Absolute, without symbolic links.
    package var mountPoint: String
    /// In the form that `apus mount` takes.
    package var source: String
    /// Absolute.
    package var stateDirectory: String
    /// The time at which the folder became usable.
    package var since: Date

    /// The version that this code implements.
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
