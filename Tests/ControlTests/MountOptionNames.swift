import Foundation
import Testing

/// The options of `apus mount`, as its help has them.
enum MountOptionNames {
    private struct Tool: Decodable { let command: Command }
    private struct Command: Decodable {
        let commandName: String
        let subcommands: [Command]?
        let arguments: [Argument]?
    }
    private struct Argument: Decodable {
        struct Name: Decodable { let name: String }
        let shouldDisplay: Bool
        let preferredName: Name?
    }

    /// Returns the names without dashes.
    static func inHelp() async throws -> [String] {
        let help = try await Program.run([Program.apus, "--experimental-dump-help"])
        let tool = try JSONDecoder().decode(Tool.self, from: Data(help.output.utf8))
        let mount = try #require(tool.command.subcommands?.first { $0.commandName == "mount" })
        return (mount.arguments ?? []).filter(\.shouldDisplay).compactMap(\.preferredName?.name)
            .filter { $0 != "help" && $0 != "version" }
    }
}
