import Control
import Foundation
import Transport

/// The daemons that serve a command's paths.
struct Daemons {
    /// One mount with the paths in it that a command names.
    struct Target {
        let mountPoint: String
        let client: ControlClient
        /// In the form of `MountService`; empty for the whole mount.
        var paths: [String]
    }

    private let transport = HTTPTransport()
    private let table: MountTable

    init() throws {
        table = try MountTable.current()
    }

    /// Returns the mounts of `paths`, each with its paths, in the order of the first path of each.
    func targets(of paths: [String]) throws -> [Target] {
        var targets: [Target] = []
        for path in paths {
            let place = try MountLocator.place(of: path, in: table)
            if let index = targets.firstIndex(where: { $0.mountPoint == place.mountPoint }) {
                targets[index].paths.append(place.path)
            } else {
                targets.append(try target(mountPoint: place.mountPoint, paths: [place.path]))
            }
        }
        return targets
    }

    /// Returns the client of the mount of `path`, and the path in it.
    func place(_ path: String) throws -> (client: ControlClient, path: String) {
        let place = try MountLocator.place(of: path, in: table)
        return (try target(mountPoint: place.mountPoint).client, place.path)
    }

    /// Returns the client of the mount in which `path` is, or was, and the path in it.
    func formerPlace(_ path: String) throws -> (target: Target, path: String) {
        let place = try MountLocator.formerPlace(of: path, in: table)
        return (try target(mountPoint: place.mountPoint), place.path)
    }

    /// The Apus mounts of this user that are visible to this process; for root, those of all users.
    var mountPoints: [String] { table.apusMounts.filter(isOurs).map(\.mountPoint) }

    /// Those of other users, which only they and root can ask.
    var othersMountPoints: [String] { table.apusMounts.filter { !isOurs($0) }.map(\.mountPoint) }

    private func isOurs(_ mount: MountTable.Entry) -> Bool {
        geteuid() == 0 || mount.userID == nil || mount.userID == geteuid()
    }

    func target(mountPoint: String, paths: [String] = []) throws -> Target {
        let socketPath = try MountLocator.socketPath(ofMountAt: mountPoint)
        let client = ControlClient(socketPath: socketPath, transport: transport)
        return Target(mountPoint: mountPoint, client: client, paths: paths)
    }

    /// Returns the mounts of `paths`, or every mount of the user if there are no paths.
    ///
    /// - Throws: `CommandFailure` if nothing is mounted.
    func targets(ofPathsOrAll paths: [String]) throws -> [Target] {
        if !paths.isEmpty { return try targets(of: paths) }
        guard !mountPoints.isEmpty else {
            throw CommandFailure(
                what: "find a mount",
                why: othersMountPoints.isEmpty
                    ? "nothing is mounted by apus" : "only other users have mounted something",
                remedy: "mount a folder with `apus mount SOURCE MOUNTPOINT`")
        }
        return try mountPoints.map { try target(mountPoint: $0) }
    }
}
