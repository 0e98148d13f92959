import Control
import Foundation
import Transport

/// The daemons that serve a command's paths.
struct Daemons {
    /// One mount with the paths in it that a command names.
    struct Target {
        let mountPoint: String
        /// In the form of `MountService`; empty for the whole mount.
        var paths: [String]
        fileprivate let found: Result<ControlClient, ControlError>

        /// - Throws: `.unreachable` if the daemon is dead, and other reasons why it has no socket.
        var client: ControlClient { get throws(ControlError) { try found.get() } }
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
                targets.append(target(mountPoint: place.mountPoint, paths: [place.path]))
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
        return (target(mountPoint: place.mountPoint), place.path)
    }

    /// The Apus mounts of this user that are visible to this process; for root, those of all users.
    var mountPoints: [String] { table.apusMounts.filter(isOurs).map(\.mountPoint) }

    /// Those of other users, which only they and root can ask.
    var othersMountPoints: [String] { table.apusMounts.filter { !isOurs($0) }.map(\.mountPoint) }

    private func isOurs(_ mount: MountTable.Entry) -> Bool {
        geteuid() == 0 || mount.userID == nil || mount.userID == geteuid()
    }

    func target(mountPoint: String, paths: [String] = []) -> Target {
        let client = Result { () throws(ControlError) in
            ControlClient(
                socketPath: try MountLocator.socketPath(ofMountAt: mountPoint),
                transport: transport)
        }
        return Target(mountPoint: mountPoint, paths: paths, found: client)
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
        return mountPoints.map { target(mountPoint: $0) }
    }
}

extension [Daemons.Target] {
    /// Calls a body for each mount in turn, also after one for which it fails.
    ///
    /// - Throws: The first failure, at the end; further ones are reported at once.
    func forEachMount(_ body: (Daemons.Target) async throws -> Void) async throws {
        var first: (any Error)?
        for target in self {
            do {
                try await body(target)
            } catch {
                if first == nil {
                    first = error
                } else {
                    Console.complain(CommandFailure(error)?.problem.description ?? "\(error)")
                }
            }
        }
        if let first { throw first }
    }
}
