import ArgumentParser
import Control
import Foundation

/// The `apus` program.
@main
struct Apus: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "apus",
        abstract: "Mounts cloud storage as a folder.",
        discussion: """
            Exit status: 0 for success, 1 for failure (one line on standard error says what failed \
            and what to do), 2 for bad usage.

            EXAMPLES:
              apus mount folder:/srv/cloud ~/Cloud
              apus status ~/Cloud
              apus sync ~/Cloud/Photos
              apus unmount ~/Cloud
            """,
        version: version,
        subcommands: [
            MountCommand.self, UnmountCommand.self, StatusCommand.self, SyncCommand.self,
            EvictCommand.self, ResolveCommand.self, ConfirmDeletionsCommand.self,
            LinkCommand.self, ApplyCommand.self, CheckCommand.self,
        ])

    static func main() async {
        // A reader of our output that goes away ends a write, not the program.
        signal(SIGPIPE, SIG_IGN)
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

    /// Ends the process without the C library's farewells: they would take TLS and other libraries
    /// apart under threads that still run.
    private static func end(with status: Int32) -> Never {
        fflush(nil)
        _exit(status)
    }

    /// Says on standard error what went wrong.
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
            print(message)  // --help and --version come this way
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
