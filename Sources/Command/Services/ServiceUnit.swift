import Foundation

/// The systemd unit of a named mount: of the user's manager, for root of the machine's.
struct ServiceUnit {
    /// Such as `apus@photos.service`.
    let unit: String
    private let mount: String

    private static var isRoot: Bool { geteuid() == 0 }

    /// When an enabled unit is started: `login` or `boot`.
    static var start: String { isRoot ? "boot" : "login" }

    init(_ mount: String) {
        self.mount = mount
        unit = "\(Self.isRoot ? "apus-mount" : "apus")@\(mount).service"
    }

    /// Enables and starts the unit, or disables and stops it.
    ///
    /// - Parameter verb: `enable` or `disable`.
    /// - Throws: `CommandFailure` without systemd, or if it refuses, after its own message.
    func systemctl(_ verb: String) async throws {
        let what = "\(verb) \(mount)"
        // sd_booted(3)
        guard access("/run/systemd/system", F_OK) == 0 else { throw withoutSystemd(verb, what) }
        let arguments = ["systemctl"] + (Self.isRoot ? [] : ["--user"]) + [verb, "--now", unit]
        let status: Int32
        do {
            status = try await onOwnThread { try run(arguments) }
        } catch {
            throw CommandFailure(what: what, why: "systemctl cannot be run (\(error))")
        }
        guard status == 0 else {
            throw CommandFailure(
                what: what, why: "systemctl failed with status \(status)",
                remedy: "`journalctl \(Self.isRoot ? "" : "--user ")--unit \(unit)` shows why; "
                    + "without a unit of this name, install Apus by its package or `make install`")
        }
    }

    private func withoutSystemd(_ verb: String, _ what: String) -> CommandFailure {
        let why = "this machine does not run systemd"
        guard verb == "enable" else {
            return CommandFailure(
                what: what, why: why, remedy: "run `apus unmount \(mount)` to end the mount")
        }
        let line = "a line `@reboot apus mount \(mount)` of crontab(5)"
        return CommandFailure(
            what: what, why: why,
            remedy: Self.isRoot
                ? "have `apus mount \(mount)` run at boot, as by \(line), or write a line of "
                    + "/etc/fstab (man mount.apus)"
                : "have `apus mount \(mount)` run at login, as by ~/.profile, or at boot, as by "
                    + line)
    }
}

/// Runs a program to its end, with the streams of this one.
///
/// - Returns: Its exit status.
private func run(_ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
}
