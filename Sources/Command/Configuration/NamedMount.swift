import Providers

/// A mount of a configuration file: `[mount.NAME]`.
struct NamedMount {
    let name: String
    let source: Source
    /// The mount point, absolute.
    let path: String
    /// Its options, completed by `[defaults]`.
    let settings: MountSettings
    /// The file that has it.
    let file: String
}
