/// One mount of a configuration file, for `apus mounts`.
package struct ConfiguredMountReport: Codable, Hashable, Sendable {
    package enum Condition: String, Codable, Sendable {
        case mounted
        case unmounted
        /// It is mounted, and its daemon has died.
        case dead
        /// Something else is mounted at its place.
        case occupied
    }

    package var name: String
    package var source: String
    /// The place at which it is mounted by its name.
    package var path: String
    /// The configuration file.
    package var file: String
    package var condition: Condition
    /// The place at which its source is mounted now, perhaps another one; nil if it is not mounted.
    package var mountPoint: String?

    package init(
        name: String, source: String, path: String, file: String, condition: Condition,
        mountPoint: String?
    ) {
        self.name = name
        self.source = source
        self.path = path
        self.file = file
        self.condition = condition
        self.mountPoint = mountPoint
    }
}
