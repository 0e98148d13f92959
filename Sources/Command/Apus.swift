import ArgumentParser
import Control
import Foundation
import Host

/// The `apus` program.
@main
struct Apus: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apus",
        abstract: "Mounts cloud storage as a folder.",
        discussion: """
            Files appear at once, and are downloaded when they are read. Changes are written to the \
            local disk first, and uploaded in the background.

            Exit status: 0 for success, 1 for failure (with one line on standard error that gives \
            the reason and a remedy), 2 for bad usage.

            EXAMPLES:
              apus mount folder:/srv/cloud ~/Cloud
              apus status ~/Cloud
              apus sync ~/Cloud/Photos
              apus unmount ~/Cloud
            """,
        version: ProgramVersion.text,
        subcommands: [
            MountCommand.self, UnmountCommand.self, MountsCommand.self, StatusCommand.self,
            WatchCommand.self, WebCommand.self, SyncCommand.self, LsCommand.self,
            PinCommand.self, UnpinCommand.self, EvictCommand.self, RefreshCommand.self,
            ResolveCommand.self, ConfirmDeletionsCommand.self, TrashCommand.self,
            LinkCommand.self, ApplyCommand.self, StatesCommand.self, ForgetCommand.self,
            CheckCommand.self, DoctorCommand.self, BenchCommand.self, BandwidthCommand.self,
            LogCommand.self, MetricsCommand.self,
        ])

    static func main() async {
        // Before there are other threads, as the arenas that those have made stay.
        MemoryArenas.limit()
        // If the reader of the output ends, the write fails instead of the program.
        signal(SIGPIPE, SIG_IGN)
        if MountHelper.isOurs { end(with: await MountHelper.run()) }
        do {
            var command = try parseAsRoot()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            end(with: 0)
        } catch {
            end(with: report(error))
        }
    }

    /// Ends the process without exit handlers: they would destroy the state of TLS and other libraries
    /// while threads still use it.
    private static func end(with status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// Writes the failure to standard error.
    ///
    /// - Returns: The exit status.
    private static func report(_ error: any Error) -> Int32 {
        if let code = error as? ExitCode { return code.rawValue }
        if let failure = CommandFailure(error) {
            Console.complain(failure.problem.description)
            return 1
        }
        let message = fullMessage(for: error)
        guard exitCode(for: error) != .success else {
            print(message)  // of --help and --version
            return 0
        }
        guard exitCode(for: error) == .validationFailure else {
            Console.complain(message)
            return 1
        }
        FileHandle.standardError.write(Data((message + "\n").utf8))
        return 2
    }
}
