import ArgumentParser

struct MountsEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Has systemd mount a folder now and at each login.",
        discussion: """
            Enables and starts the unit apus@NAME of the user's systemd; as root apus-mount@NAME of the \
            machine's, which mounts at each boot. The unit uploads before it stops, and is started \
            again after a failure. To mount as an ordinary user from the boot on, without a login, run \
            `loginctl enable-linger`.

            EXAMPLES:
              apus mounts enable photos
              sudo apus mounts enable photos
              journalctl --user --unit apus@photos
            """)

    @Argument(help: "The name in the configuration file.", completion: .configuredMounts)
    var name: String

    func run() async throws {
        let mount = try Configuration.current().mount(named: name, to: "enable")
        try await ServiceUnit(name).systemctl("enable")
        Console.printLine(
            "\(name) is mounted on \(mount.path), and will be at each \(ServiceUnit.start).")
    }
}
