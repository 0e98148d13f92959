import ArgumentParser

struct MountsDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Ends a mount that systemd has made, and does not mount it at the next login.",
        discussion: """
            Disables and stops the unit apus@NAME, as root apus-mount@NAME. Changes that are not uploaded \
            in time stay in the state, and are sent by the next mount.

            EXAMPLES:
              apus mounts disable photos
            """)

    @Argument(help: "The name in the configuration file.", completion: .configuredMounts)
    var name: String

    func run() async throws {
        // The name may be gone from the file by now.
        guard MountName.isValid(name) else {
            throw CommandFailure(
                what: "disable \(name)", why: "it is not a name of a mount", remedy: MountName.rule)
        }
        try await ServiceUnit(name).systemctl("disable")
        Console.printLine(
            "\(name) is not mounted any more, and will not be at the next \(ServiceUnit.start).")
    }
}
