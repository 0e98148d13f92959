import Control
import Engine
import Foundation
import Host
import Providers

/// Finds the state directories that belong to a command's argument.
enum StateLocator {
    /// - Parameters:
    ///   - text: A state directory, a mount point or a source; nil for every state in the default
    ///     place.
    ///   - verb: The purpose, for messages: `check`.
    /// - Throws: `CommandFailure` if there is no state, or it cannot be determined.
    static func directories(for text: String?, to verb: String) throws -> [String] {
        guard let text else { return try all(to: verb) }
        return [try directory(for: text, to: verb)]
    }

    /// - Parameters: As of ``directories(for:to:)``.
    static func directory(for text: String, to verb: String) throws -> String {
        let what = "\(verb) \(text)"
        let path = Path.absolute(text)
        let table = try MountTable.current()
        let mountPoint = (try? MountLocator.resolve(path, in: table)) ?? path
        if let mount = table.mount(at: mountPoint), mount.isApus {
            return try known(directory(of: mount), what)
        }
        if isState(path) { return path }
        if let bare = BareMountPoint(mountPoint), bare.isProtected {
            return try known(ofDeadMount(at: mountPoint, named: bare.stateDirectory), what)
        }
        let former = defaults.filter { StateDirectory.lastMountPoint(of: $0) == mountPoint }
        if former.count > 1 {
            throw CommandFailure(
                what: what,
                why: "several states were mounted there: \(former.joined(separator: ", "))",
                remedy: "name one of these directories")
        }
        if let directory = try former.first ?? ofSource(text, what) { return directory }
        throw CommandFailure(
            what: what,
            why: "it is neither a state directory, nor a folder on which a state in the default "
                + "place was mounted, nor a source",
            remedy: "name the directory that was given with --state-dir")
    }

    /// Returns the command that mounts a state again.
    ///
    /// - Parameters:
    ///   - directory: Without symbolic links.
    ///   - source: nil if it is not known.
    static func mountCommand(_ directory: String, _ source: String?) -> String {
        let mountPoint = StateDirectory.lastMountPoint(of: directory)
        let words = [source?.shellWord ?? "SOURCE", mountPoint?.shellWord ?? "MOUNTPOINT"]
        let place = defaults.contains(directory) ? [] : ["--state-dir", directory.shellWord]
        return (["apus mount"] + words + place).joined(separator: " ")
    }

    /// Checks the state directory that a mount without a daemon claims to have.
    ///
    /// - Parameters:
    ///   - mountPoint: Without symbolic links.
    ///   - directory: The one named by the mount, or by the mark on its directory.
    /// - Returns: nil if it is gone, or has been mounted elsewhere since.
    static func ofDeadMount(at mountPoint: String, named directory: String?) -> String? {
        directory.flatMap {
            StateDirectory.lastMountPoint(of: $0) == mountPoint ? $0 : nil
        }
    }

    private static func all(to verb: String) throws -> [String] {
        let defaults = defaults
        guard !defaults.isEmpty else {
            throw CommandFailure(
                what: "find states to \(verb)", why: "there are none in the default place",
                remedy: "name the directory that was given with --state-dir")
        }
        return defaults
    }

    /// The state directories in the default place, by name.
    static var defaults: [String] {
        pathsInDefaultPlace.filter { !$0.hasSuffix(StateDirectory.removalSuffix) && isState($0) }
    }

    /// The directories in the default place whose removal was interrupted.
    static var halfRemoved: [String] {
        pathsInDefaultPlace.filter { $0.hasSuffix(StateDirectory.removalSuffix) }
    }

    private static var pathsInDefaultPlace: [String] {
        let example = try? StateDirectory.defaultPath(
            name: "x", environment: ProcessInfo.processInfo.environment)
        guard let example else { return [] }
        let parent = URL(filePath: example).deletingLastPathComponent().path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        return names.sorted().map { Path.absolute("\(parent)/\($0)") }
    }

    /// Whether a directory looks like a state, damaged or not.
    private static func isState(_ path: String) -> Bool {
        ["\(path)/lock", "\(path)/\(StateDatabase.name)"].contains {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    /// Returns the state directory of a mount. That of a live one is in use, as the check reports.
    static func directory(of mount: MountTable.Entry) -> String? {
        if let socket = try? MountLocator.socketPath(ofMountAt: mount.mountPoint) {
            return URL(filePath: socket).deletingLastPathComponent().path(percentEncoded: false)
        }
        let label = MountLabel(parsing: mount.source, userID: mount.userID)
        return ofDeadMount(at: mount.mountPoint, named: label.stateDirectory)
    }

    private static func known(_ directory: String?, _ what: String) throws -> String {
        guard let directory else {
            throw CommandFailure(
                what: what, why: "the state directory of its mount is not known",
                remedy: "name the directory that was given with --state-dir")
        }
        return directory
    }

    private static func ofSource(_ text: String, _ what: String) throws -> String? {
        guard let source = try? Source(parsing: text) else { return nil }
        let path = try StateDirectory.defaultPath(
            name: source.stateName, environment: ProcessInfo.processInfo.environment)
        guard isState(path) else {
            throw CommandFailure(
                what: what, why: "there is no state of it in \(path)",
                remedy: "name the directory that was given with --state-dir")
        }
        return path
    }
}
