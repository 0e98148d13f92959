import Control
import Glibc
import Providers

/// Compares mounts that are asked for with those that exist.
enum ConfiguredMounts {
    /// Whether a living mount of the same source is at the mount point.
    static func isMounted(_ request: MountRequest) throws -> Bool {
        try condition(of: request) == .mounted
    }

    /// Whether a mount of the same source is there, whose daemon has died.
    static func isDead(_ request: MountRequest) throws -> Bool {
        try condition(of: request) == .dead
    }

    /// Returns the mount point that a user means: a path, or the name of a mount unless there is such a path.
    static func path(for text: String) -> String {
        guard MountName.isName(text), access(text, F_OK) != 0, errno == ENOENT,
            let mounts = try? Configuration.current().mounts
        else { return text }
        return mounts.first { $0.name == text }?.path ?? text
    }

    private static func condition(
        of request: MountRequest
    ) throws -> ConfiguredMountReport.Condition {
        condition(of: request.source, at: request.mountPoint, in: try MountTable.current())
    }

    static func report(_ mount: NamedMount, in table: MountTable) -> ConfiguredMountReport {
        let condition = condition(of: mount.source, at: mount.path, in: table)
        let elsewhere = table.apusMounts.first {
            source(of: $0) == mount.source.description && !MountLocator.isDead($0.mountPoint)
        }
        return ConfiguredMountReport(
            name: mount.name, source: mount.source.description, path: mount.path,
            file: mount.file, condition: condition,
            mountPoint: condition == .mounted ? mount.path : elsewhere?.mountPoint)
    }

    private static func condition(
        of expected: Source, at path: String, in table: MountTable
    ) -> ConfiguredMountReport.Condition {
        guard let resolved = try? MountLocator.resolve(path, in: table),
            let mount = table.mount(at: resolved)
        else { return .unmounted }
        guard mount.isApus, source(of: mount) == expected.description else { return .occupied }
        return MountLocator.isDead(resolved) ? .dead : .mounted
    }

    private static func source(of mount: MountTable.Entry) -> String {
        MountLabel(parsing: mount.source, userID: nil).source
    }
}
