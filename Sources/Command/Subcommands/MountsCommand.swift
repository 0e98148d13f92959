import ArgumentParser

struct MountsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mounts",
        abstract: "Lists the mounts of the configuration file, or has systemd mount them.",
        discussion: """
            A mount has a name in ~/.config/apus/config.toml, or for all users in \
            /etc/apus/config.toml, and `apus mount NAME` mounts it. apus(5) describes the file.

            EXAMPLES:
              apus mounts
              apus mounts --json
              apus mounts enable photos
            """,
        subcommands: [
            MountsListCommand.self, MountsEnableCommand.self, MountsDisableCommand.self,
        ], defaultSubcommand: MountsListCommand.self)
}
