import Foundation
import Glibc
import Testing

/// `apus mounts enable` and `disable`, with a program of the test in the place of systemctl.
@Suite(.timeLimit(.minutes(2)))
struct MountsCommandTests {
    private static let configuration =
        "[mount.photos]\nsource = \"folder:/srv\"\npath = \"Photos\"\n"

    /// Runs commands in a home directory, on a machine that seems to run systemd.
    private func run(_ script: String, systemctl: String) throws -> Program.Result {
        let home = try Files.makeTemporaryDirectory("s")
        defer { _ = try? Program.run("rm", "-rf", home) }
        try Program.require("mkdir", "-p", "\(home)/.config/apus", "\(home)/bin")
        try Files.write(
            Array(Self.configuration.utf8), to: "\(home)/.config/apus/config.toml")
        try Files.write(Array("#!/bin/sh\n\(systemctl)\n".utf8), to: "\(home)/bin/systemctl")
        try Files.setMode(0o755, of: "\(home)/bin/systemctl")
        return try Program.start(
            [
                "unshare", "--mount", "--propagation", "private", "sh", "-ec",
                """
                mount -t tmpfs tmpfs /run
                mkdir -p /run/systemd/system
                PATH="$1/bin:$PATH"
                \(script)
                """, "sh", home, Apus.path,
            ], environment: ["HOME": home]
        ).wait()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a mount namespace"))
    func `enable and start the unit of a name, or disable and stop it`() throws {
        let result = try run(
            "\"$2\" mounts enable photos; \"$2\" mounts disable photos", systemctl: "echo \"$@\"")
        result.expectSuccess()
        let lines = result.output.split(separator: "\n")
        #expect(lines.first == "enable --now apus-mount@photos.service", "\(result)")
        #expect(result.output.contains("photos is mounted on"), "\(result)")
        #expect(lines.contains("disable --now apus-mount@photos.service"), "\(result)")
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a mount namespace"))
    func `a refusal of systemctl is a failure`() throws {
        let result = try run("\"$2\" mounts enable photos", systemctl: "echo no unit >&2; exit 5")
        #expect(result.status == 1)
        #expect(result.errors.hasPrefix("no unit\napus: enable photos: systemctl failed with"))
        let unknown = try run("\"$2\" mounts enable work", systemctl: "echo \"$@\"")
        #expect(unknown.status == 1 && unknown.output == "")
        #expect(unknown.errors.contains("no mount has this name, only photos"), "\(unknown)")
    }

    @Test(.enabled(if: !Files.exists("/run/systemd/system"), "this machine runs systemd"))
    func `without systemd, the alternatives are told`() throws {
        let home = try Files.makeTemporaryDirectory("s")
        defer { _ = try? Program.run("rm", "-rf", home) }
        try Program.require("mkdir", "-p", "\(home)/.config/apus")
        try Files.write(
            Array(Self.configuration.utf8), to: "\(home)/.config/apus/config.toml")
        let result = try Apus.run(["mounts", "enable", "photos"], environment: ["HOME": home])
        #expect(result.status == 1)
        #expect(
            result.errors.contains("this machine does not run systemd; have `apus mount photos`"))
    }
}
