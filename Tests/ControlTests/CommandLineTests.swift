import ArgumentParser
import Control
import Foundation
import Testing

@testable import apus

@Suite(.timeLimit(.minutes(10)))
struct CommandLineTests {
    /// A program may have changed a file after the last look, as it has no way to notice the end of a mount.
    @Test(arguments: [(["/a"], 0, true), (["/a"], 1, false), (["/a", "--now"], 1, true)])
    func `unmounting succeeds if nothing is left to send, or with --now`(
        arguments: [String], pending: UInt64, succeeds: Bool
    ) throws {
        let command = try #require(
            try Apus.parseAsRoot(["unmount"] + arguments) as? UnmountCommand)
        var last = SyncProgress(isDone: true)
        last.pending = pending
        guard !succeeds else { return try command.end(after: last) }
        let failure = #expect(throws: CommandFailure.self) { try command.end(after: last) }
        #expect(failure?.problem.why.contains("1 item") == true)
    }

    @Test(arguments: [
        ["mount"], ["mount", "folder:/x"], ["evict"], ["unmount"], ["nonsense"],
        ["mount", "folder:/x", "/tmp", "--cache-size", "much"],
        ["mount", "folder:/x", "/tmp", "--cache-size", "63MiB"],
        ["mount", "folder:/x", "/tmp", "--refresh", "soon"],
        ["mount", "folder:/x", "/tmp", "--offline", "sulk"], ["status", "--nonsense"],
        ["status", "--watch", "/a", "/b"], ["check", "a", "b"], ["forget"], ["states", "a"],
        ["trash", "restore"], ["sync", "--timeout", "soon"], ["unmount", "/a", "--timeout", "0"],
        ["status", "--timeout", "soon"], ["status", "--retry", "--watch"],
        ["status", "--retry", "--who"], ["status", "--timeout", "5s", "--watch"],
        ["web", "--port", "65536"], ["web", "--port", "any"], ["web", "a"],
        ["apply", "sepia", "/tmp", "--max-pixels", "0"],
        ["apply", "sepia", "/tmp", "--max-memory", "127MiB"],
        ["apply", "sepia", "/tmp", "--max-seconds", "0"],
    ])
    func `bad usage is told with exit status 2`(arguments: [String]) async throws {
        let outcome = try await Program.run([Program.apus] + arguments)
        #expect(outcome.status == 2)
        #expect(outcome.complaint.contains("Usage:"))
        #expect(outcome.output == "")
    }

    @Test(arguments: [["--version"], ["--help"], ["mount", "--help"], ["help", "sync"]])
    func `help and version are no errors`(arguments: [String]) async throws {
        let outcome = try await Program.run([Program.apus] + arguments)
        #expect(outcome.status == 0)
        #expect(!outcome.output.isEmpty)
        #expect(outcome.complaint == "")
    }

    /// All commands, also those of commands, by their words after `apus`.
    private static func commands(
        of parent: any ParsableCommand.Type = Apus.self, _ words: [String] = []
    ) throws -> [(words: [String], type: any ParsableCommand.Type)] {
        try parent.configuration.subcommands.flatMap { command in
            let words = words + [try #require(command.configuration.commandName)]
            return try [(words, command)] + commands(of: command, words)
        }
    }

    @Test func `every command's help has examples`() throws {
        for (words, command) in try Self.commands() {
            let help = Apus.helpMessage(for: command)
            #expect(help.contains("EXAMPLES:\n  apus \(words.joined(separator: " "))"), "\(help)")
        }
    }

    @Test func `every command takes an unknown option for bad usage`() throws {
        for (words, _) in try Self.commands() {
            let error = #expect(throws: (any Error).self) {
                try Apus.parseAsRoot(words + ["--nonsense"])
            }
            #expect(error.map { Apus.exitCode(for: $0) } == .validationFailure, "\(words)")
        }
    }

    @Test func `the examples of mount are whole, and there is one for each kind of source`()
        async throws
    {
        let outcome = try await Program.run([Program.apus, "mount", "--help"])
        for end in [" --foreground\n", " --refresh 1m\n", "rclone:drive:Photos ~/Cloud\n"] {
            let examples = outcome.output.split(separator: "\n").filter {
                $0.hasPrefix("  apus mount ")
            }
            #expect(examples.contains { "\($0)\n".hasSuffix(end) }, "\(examples)")
        }
    }

    @Test func `the help of apply states the bounds of a picture`() async throws {
        let outcome = try await Program.run([Program.apus, "apply", "--help"])
        let words = outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("--max-pixels <max-pixels>"))
        #expect(words.contains("(default: 256000000)"))
        #expect(words.contains("from 1GiB to 4GiB"))
        #expect(words.contains("--max-seconds <max-seconds>"))
        #expect(words.contains("(default: 300)"))
    }

    @Test func `the help of mount has the choices while the remote is out of reach`() async throws {
        let outcome = try await Program.run([Program.apus, "mount", "--help"])
        #expect(outcome.output.contains("--offline <fail|wait>"))
        #expect(outcome.output.contains("(default: fail)"))
    }

    @Test func `a password in a source is not repeated`() async throws {
        let outcome = try await Program.run([
            Program.apus, "mount", "webdav+http://me:hush@host/dav", "/nonexistent",
        ])
        #expect(outcome.status == 1)
        #expect(outcome.complaint.contains("mount webdav+http://…@host/dav"))
        #expect(!outcome.complaint.contains("hush"))
    }

    @Test func `help tells everybody's state directory`() async throws {
        let outcome = try await Program.run([Program.apus, "mount", "--help"])
        let words = outcome.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            words.contains(
                "(default: $XDG_STATE_HOME/apus/… or ~/.local/state/apus/…, "
                    + "for root /var/lib/apus/…)"))
    }

    @Test
    func `help states the default of the cache's size; too small a cache or memory is refused`()
        async throws
    {
        let help = try await Program.run([Program.apus, "mount", "--help"])
        let words = help.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(
            words.contains(
                "at least 64MiB. (default: a tenth of the disk with the state directory, "
                    + "at most half of its free space)"))
        let refusal = try await Program.run(
            [Program.apus, "mount", "folder:/x", "/tmp", "--cache-size", "63MiB"])
        #expect(refusal.complaint.contains("\"63MiB\" is too small for a cache"))
        #expect(words.contains("more. (default: 10%, at most 5GiB)"))
        for text in ["100%", "-1%", "%", "1.5%", "many", "-3GiB"] {
            let space = try await Program.run(
                [Program.apus, "mount", "folder:/x", "/tmp", "--keep-free=\(text)"])
            #expect(space.status == 2)
            #expect(space.complaint.contains("\"\(text)\" is no space; write it like 20GiB or 10%"))
        }
        let memory = try await Program.run(
            [Program.apus, "mount", "folder:/x", "/tmp", "--memory", "15MiB"])
        #expect(memory.complaint.contains("\"15MiB\" is too little memory; give at least 16MiB"))
    }

    @Test(arguments: [["sync", "/proc"], ["status", "/no/such"], ["unmount", "/proc"]])
    func `a failure is one line and exit status 1`(arguments: [String]) async throws {
        let outcome = try await Program.run([Program.apus] + arguments)
        #expect(outcome.status == 1)
        #expect(outcome.complaint.hasPrefix("apus: "))
        #expect(outcome.complaint.split(separator: "\n").count == 1)
    }

    @Test func `mounting on a folder that is missing says how to make it`() async throws {
        let complaint = try await refusedMount("/no/such")
        #expect(
            complaint
                == "apus: mount on /no/such: there is no such folder; make it: mkdir -p /no/such\n")
    }

    @Test func `mounting on a folder that is not empty is refused`() async throws {
        let directory = try TemporaryDirectory()
        try Data().write(to: URL(filePath: directory.path + "/file"))
        #expect(try await refusedMount(directory.path).contains("it is not empty"))
        #expect(try await refusedMount(directory.path + "/file").contains("it is not a folder"))
    }

    @Test func `mounting on a mount is refused`() async throws {
        #expect(try await refusedMount("/proc").contains("proc is mounted there"))
    }

    @Test func `a state directory that cannot be made is told`() async throws {
        let directory = try TemporaryDirectory()
        let complaint = try await refusedMount(directory.path, ["--state-dir", "/proc/apus"])
        #expect(complaint.hasPrefix("apus: use the state directory \"/proc/apus\": "))
        #expect(complaint.contains("--state-dir"))
    }

    /// Goal: nothing that contains its own mount or state is mounted, and nothing is written.
    @Test(arguments: [
        ("x/mnt", "x/mnt", "state"), ("x", "x/mnt", "state"), ("x", "mnt", "x/state/deep"),
        ("x", "mnt", "x"), ("x", "link", "state"), ("x", "mnt", "link/state"),
        ("x/mnt/y", "x/mnt", "state"), ("state/y", "mnt", "state"), ("x", "mnt", "mnt/state"),
    ])
    func `a source, its mount point and its state directory must be separate`(
        source: String, point: String, state: String
    ) async throws {
        let directory = try TemporaryDirectory()
        for name in ["x/mnt", "mnt", "state/y"] {
            try FileManager.default.createDirectory(
                atPath: "\(directory.path)/\(name)", withIntermediateDirectories: true)
        }
        let files = FileManager.default
        try files.createSymbolicLink(
            atPath: directory.path + "/link", withDestinationPath: "x/mnt")
        let before = try files.subpathsOfDirectory(atPath: directory.path).sorted()
        let outcome = try await Program.run([
            Program.apus, "mount", "folder:\(directory.path)/\(source)",
            "\(directory.path)/\(point)", "--state-dir", "\(directory.path)/\(state)",
        ])
        #expect(outcome.status == 1 && outcome.complaint.contains("overlap"), "\(outcome)")
        #expect(outcome.complaint.split(separator: "\n").count == 1)
        #expect(try files.subpathsOfDirectory(atPath: directory.path).sorted() == before)
    }

    /// Method: the second mount of a directory exists in a namespace of its own only.
    @Test(.enabled(if: geteuid() == 0, "only root can mount a directory once more"))
    func `a state directory in another mount of the source is refused`() async throws {
        let directory = try TemporaryDirectory()
        for name in ["x/sub", "other", "mnt"] {
            try FileManager.default.createDirectory(
                atPath: "\(directory.path)/\(name)", withIntermediateDirectories: true)
        }
        let outcome = try await Program.run([
            "unshare", "--mount", "sh", "-c",
            """
            cd "$0" && mount --bind x/sub other &&
                exec "$1" mount folder:"$0"/x mnt --state-dir other/state
            """, directory.path, Program.apus,
        ])
        #expect(outcome.status == 1 && outcome.complaint.contains("overlap"), "\(outcome)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path + "/x/sub").isEmpty)
    }

    private func refusedMount(_ path: String, _ more: [String] = []) async throws -> String {
        let outcome = try await Program.run([Program.apus, "mount", "folder:/x", path] + more)
        #expect(outcome.status == 1)
        return outcome.complaint
    }
}
