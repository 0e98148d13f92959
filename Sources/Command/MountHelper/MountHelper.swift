import ArgumentParser
import CLinux
import Control
import Foundation

/// This program as the helper of mount(8) for the type `apus`, which it recognises by its name. Serves
/// `mount -t apus` and lines of `/etc/fstab`.
enum MountHelper {
    /// The exit statuses of mount(8).
    private enum Status {
        static let success: Int32 = 0
        static let badUsage: Int32 = 1
        static let mountFailure: Int32 = 32
    }

    static var isOurs: Bool {
        ["mount.apus", "mount.fuse.apus"].contains(String(cString: apus_program_name()))
    }

    /// Mounts as the arguments of this process tell.
    ///
    /// - Returns: The exit status.
    static func run() async -> Int32 {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words != ["--help"], words != ["-h"] else {
            Console.printLine(MountHelperArguments.usage)
            return Status.success
        }
        do {
            let arguments = try MountHelperArguments(parsing: words)
            if arguments.isVerbose { Console.printLine(arguments.commandLine) }
            let command = try command(arguments)
            guard !arguments.isFake else { return Status.success }
            try await mount(arguments, command)
            return Status.success
        } catch let error as MountHelperError {
            Console.complain(error.problem.description)
            return Status.badUsage
        } catch {
            Console.complain(CommandFailure(error)?.problem.description ?? "\(error)")
            return Status.mountFailure
        }
    }

    private static func command(_ arguments: MountHelperArguments) throws -> MountCommand {
        do {
            return try MountCommand.parse(arguments.ofMountCommand)
        } catch {
            throw MountHelperError(
                arguments.attempt, why: MountCommand.message(for: error),
                remedy: MountHelperArguments.manual)
        }
    }

    private static func mount(
        _ arguments: MountHelperArguments, _ command: MountCommand
    ) async throws {
        provideHome()
        // `mount -a` recognises a mount only if its line has the source as the table of mounts shows it.
        guard try !ConfiguredMounts.isMounted(command.request) else {
            try requireSameAccess(arguments, command)
            return Console.complain("note: \(arguments.source) is already mounted there")
        }
        try await command.run()
    }

    /// - Throws: `CommandFailure` if the mount that is there takes changes, and the wanted one does not, or
    ///   the reverse.
    private static func requireSameAccess(
        _ arguments: MountHelperArguments, _ command: MountCommand
    ) throws {
        guard let path = Path.resolved(arguments.mountPoint) else { return }
        var space = statvfs()
        guard statvfs(path, &space) == 0 else { return }
        let isReadOnly = space.f_flag & UInt(ST_RDONLY) != 0
        guard isReadOnly != (command.settings.readOnly ?? false) else { return }
        throw CommandFailure(
            what: arguments.attempt,
            why: isReadOnly
                ? "it is already mounted there, read-only"
                : "it is already mounted there, and takes changes",
            remedy: "run `apus unmount \(path)` first")
    }

    /// Sets `HOME`, below which credentials are looked for: at boot, mount(8) runs without it, and root
    /// is not to use the credentials and commands of the user who has called `sudo mount`.
    private static func provideHome() {
        guard let user = getpwuid(getuid()) else { return }
        setenv("HOME", user.pointee.pw_dir, getuid() == 0 ? 1 : 0)
        if getuid() == 0 { unsetenv("XDG_CONFIG_HOME") }
    }
}
