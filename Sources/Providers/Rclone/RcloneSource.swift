package import Engine
import Glibc
package import ProviderSupport

/// The `rclone:` form of a ``Source``: `rclone:NAME:PATH`, as rclone itself writes it.
///
/// NAME is a remote of rclone's configuration. Remotes defined in place, as in
/// `:s3,access_key_id=…:bucket`, are refused: they put secrets on the command line.
package struct RcloneSource: SourceForm, Hashable {
    let remote: String
    /// Without slashes at the end; one at the start has a meaning for some remotes.
    let path: String

    package init(parsing text: Substring) throws(SourceError) {
        let name = text.prefix { $0 != ":" }
        guard name.count < text.count else {
            throw SourceError(
                .misspelled, "\"rclone:\(text)\" names no remote, or lacks the colon behind it",
                remedy: "write \(Self.form)")
        }
        guard Self.isName(name) else {
            throw SourceError(
                .misspelled, "\"\(name)\" is not a name of a remote in rclone's configuration",
                remedy: "make one with `rclone config`, then write \(Self.form)")
        }
        remote = String(name)
        var path = text.dropFirst(name.count + 1)
        while path.count > 1, path.last == "/" { path = path.dropLast() }
        // rclone's server recognises the end of a remote by this character.
        guard !path.contains("]"), !path.contains("\0"), !path.contains("\n") else {
            throw SourceError(
                .misspelled,
                "\"\(path)\" has a character that rclone's server does not allow there",
                remedy: "mount the directory above it")
        }
        self.path = String(path)
    }

    package static let form = "rclone:NAME:PATH"

    /// rclone's rule for names: letters, digits, `_-.+@`, and blanks except at the ends.
    private static func isName(_ name: Substring) -> Bool {
        guard let first = name.first, let last = name.last else { return false }
        return first != "-" && first != " " && last != " "
            && name.allSatisfy { $0.isLetter || $0.isNumber || "_-.+@ ".contains($0) }
    }

    /// In rclone's syntax.
    var fileSystem: String { "\(remote):\(path)" }
    package var description: String { "rclone:\(fileSystem)" }
    package var identity: String { description }

    package var stateName: String {
        StateName.make(kind: "rclone", label: label.utf8, of: identity.utf8)
    }

    private var label: String {
        let last = path.split(separator: "/").last.map { "-\($0)" } ?? ""
        return remote + last
    }

    package func connect(_ world: ProviderEnvironment) async throws(SourceError) -> any Provider {
        var provider = try await RcloneProvider.connect(fileSystem, world: world)
        provider.traits.names = await world.names(of: provider, stated: nil)
        return provider
    }
}
