import Control
import Engine
import Foundation
import Host
import Providers

/// Finds state directories by what users know of them.
enum StateLocator {
    /// - Parameter text: A state directory, a mount point or a source; nil for all in the usual
    ///   place.
    /// - Throws: `CommandFailure` where there is no state.
    static func directories(for text: String?) throws -> [String] {
        guard let text else { return try all() }
        let path = Path.absolute(text)
        if let directory = try ofMount(at: path) { return [directory] }
        if isState(path) { return [path] }
        if let directory = known.first(where: { StateDirectory.lastMountPoint(of: $0) == path }) {
            return [directory]
        }
        if let directory = try ofSource(text) { return [directory] }
        throw CommandFailure(
            what: "check \(text)",
            why: "it is neither a state directory, nor a folder that was mounted from one in the "
                + "usual place, nor a source",
            remedy: "name the directory that was given with --state-dir")
    }

    private static func all() throws -> [String] {
        let known = known
        guard !known.isEmpty else {
            throw CommandFailure(
                what: "find states to check", why: "there are none in the usual place",
                remedy: "name the directory that was given with --state-dir")
        }
        return known
    }

    /// The state directories in the usual place, by name.
    private static var known: [String] {
        let example = try? StateDirectory.defaultPath(
            name: "x", environment: ProcessInfo.processInfo.environment)
        guard let example else { return [] }
        let parent = URL(filePath: example).deletingLastPathComponent().path(percentEncoded: false)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        return names.sorted().map { Path.absolute("\(parent)/\($0)") }.filter(isState)
    }

    /// Whether it looks like a state directory, damaged or not.
    private static func isState(_ path: String) -> Bool {
        ["\(path)/lock", "\(path)/\(StateDatabase.name)"].contains {
            FileManager.default.fileExists(atPath: $0)
        }
    }

    /// The state of what is mounted now. The check will find it in use, and say by whom; a dead
    /// mount's is free.
    private static func ofMount(at path: String) throws -> String? {
        let table = try MountTable.current()
        let resolved = (try? MountLocator.resolve(path, in: table)) ?? path
        guard let mount = table.mount(at: resolved), mount.isApus else { return nil }
        if let socket = try? MountLocator.socketPath(ofMountAt: mount.mountPoint) {
            return URL(filePath: socket).deletingLastPathComponent().path(percentEncoded: false)
        }
        return known.first { StateDirectory.lastMountPoint(of: $0) == resolved }
    }

    /// The state directory that a dead mount had, and nobody has mounted elsewhere since.
    ///
    /// - Parameters:
    ///   - mountPoint: Where it was, without symbolic links.
    ///   - noted: What the mount has noted down, if anything.
    static func ofDeadMount(at mountPoint: String, noted: String?) -> String? {
        ([noted].compactMap(\.self) + known).first {
            StateDirectory.lastMountPoint(of: $0) == mountPoint
        }
    }

    private static func ofSource(_ text: String) throws -> String? {
        guard let source = try? Source(parsing: text) else { return nil }
        let path = try StateDirectory.defaultPath(
            name: source.stateName, environment: ProcessInfo.processInfo.environment)
        guard isState(path) else {
            throw CommandFailure(
                what: "check \(text)", why: "there is no state of it in \(path)",
                remedy: "name the directory that was given with --state-dir")
        }
        return path
    }
}
