import Control
import Foundation
import ProviderSupport

/// The named mounts of this user's configuration file and of the system's.
struct Configuration {
    static let systemFile = "/etc/apus/config.toml"

    /// The files in which mounts are looked for, whether they exist or not.
    let files: [String]
    /// By name. One of the user's file hides one of the same name of the system's.
    let mounts: [NamedMount]

    /// Reads both files.
    ///
    /// - Throws: `CommandFailure` with file and line for the first error.
    static func current() throws -> Configuration {
        let home = HomePath(home: homeDirectory)
        let userFile = CredentialSearch().configurationFile
        let own = try userFile.map { try ConfigurationFile.mounts(in: $0, of: .user, home) } ?? []
        let shared = try ConfigurationFile.mounts(in: systemFile, of: .system, home)
        let visible = shared.filter { mount in !own.contains { $0.name == mount.name } }
        return Configuration(
            files: [userFile, systemFile].compactMap(\.self),
            mounts: (own + visible).sorted { $0.name < $1.name })
    }

    /// - Parameter verb: The purpose, for messages: `mount`.
    /// - Throws: `CommandFailure` with the names that exist.
    func mount(named name: String, to verb: String) throws -> NamedMount {
        if let mount = mounts.first(where: { $0.name == name }) { return mount }
        let names = mounts.map(\.name)
        let places = files.joined(separator: " and ")
        let near = Spelling.nearest(to: name, among: names)
        throw CommandFailure(
            what: "\(verb) \(name)",
            why: names.isEmpty
                ? "there are no named mounts in \(places)"
                : "no mount has this name, only \(names.joined(separator: ", "))",
            remedy: near.map { "did you mean \($0)?" }
                ?? (MountName.isValid(name) ? nil : MountName.rule)
                ?? "add [mount.\(name)] to \(files[0]) (man 5 apus), or give a source as in folder:PATH"
        )
    }

    /// That of the environment, or of the table of users.
    private static var homeDirectory: String {
        if let home = getenv("HOME").map({ String(cString: $0) }), home.hasPrefix("/") {
            return home
        }
        return getpwuid(getuid()).map { String(cString: $0.pointee.pw_dir) } ?? "/"
    }
}
