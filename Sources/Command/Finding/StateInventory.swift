import Control
import Engine
import Host

/// The state directories of this user: those in the default place, and those of visible mounts.
struct StateInventory {
    /// A state directory, and its mount if it has one.
    struct Entry {
        let directory: String
        let mount: MountTable.Entry?
    }

    let entries: [Entry]

    init(_ table: MountTable) {
        var mounts: [(directory: String, mount: MountTable.Entry)] = []
        for mount in table.apusMounts {
            guard let directory = StateLocator.directory(of: mount) else { continue }
            mounts.append((Self.real(directory), mount))
        }
        let defaults = StateLocator.defaults.map(Self.real)
        let others = mounts.map(\.directory).filter { !defaults.contains($0) }
        entries = (defaults + others).map { directory in
            Entry(
                directory: directory,
                mount: mounts.first { $0.directory == directory }?.mount)
        }
    }

    /// The states that are not mounted and have, or may have, changes that are not on the remote.
    var waiting: [StateReport] {
        entries.filter { $0.mount == nil }
            .map { StateInspection.unmounted($0.directory) }
            .filter(\.waitsForMount)
    }

    /// - Parameter directory: Without symbolic links.
    func mount(of directory: String) -> MountTable.Entry? {
        entries.first { $0.directory == directory }?.mount
    }

    private static func real(_ directory: String) -> String {
        Path.resolved(directory) ?? directory
    }
}
