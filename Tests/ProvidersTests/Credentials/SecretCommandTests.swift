import Foundation
import Glibc
import Logging
import Synchronization
import Testing

@testable import ProviderSupport

@Suite(.timeLimit(.minutes(2))) struct SecretCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func command(_ line: String) -> SecretCommand {
        SecretCommand(line: Secret(line), name: "the command")
    }

    private func commands(limit: Duration = .seconds(300)) -> SecretCommands {
        SecretCommands(limit: limit, logger: Logger(label: "test"))
    }

    /// Goal: what waits for a password does not wait for ever.
    @Test func `a command that does not end is ended`() async throws {
        for line in ["echo hush; exec sleep 600", "exec yes", "exec sleep 600 >&-"] {
            let failure = await #expect(throws: SecretCommand.Failure.self) {
                _ = try await commands(limit: .milliseconds(200)).output(of: command(line))
            }
            #expect(failure?.problem == "did not end within 0.2 seconds", "\(line)")
        }
    }

    @Test func `a command counts as ended when it has ended, whatever it leaves behind`()
        async throws
    {
        let commands = commands()
        let output = try await commands.output(
            of: command("sleep 600 & echo $! > \(folder.path("pid")); echo secret"))
        #expect(output == Array("secret\n".utf8))
        let left = try #require(process(named: "pid"))
        #expect(kill(left, SIGKILL) == 0)
    }

    /// Goal: a source that is opened again and again does not ask a person each time.
    @Test func `an output is remembered for the next opening, until it is asked for again`()
        async throws
    {
        let memory = SecretMemory()
        let counting = command("echo run >> \(folder.path("runs")); wc -l < \(folder.path("runs"))")
        func opened() -> SecretCommands {
            SecretCommands(logger: Logger(label: "test"), memory: memory)
        }
        let first = opened()
        #expect(try await first.output(of: counting) == Array("1\n".utf8))
        let second = opened()
        #expect(try await second.output(of: counting) == Array("1\n".utf8))
        #expect(try await second.output(of: counting) == Array("2\n".utf8), "it was refused")
        #expect(try await first.output(of: counting) == Array("3\n".utf8))
        #expect(try await opened().output(of: counting) == Array("3\n".utf8))
        memory.forget()
        #expect(try await opened().output(of: counting) == Array("4\n".utf8))
    }

    @Test func `a command is named for as long as it is waited for`() async throws {
        let names = Mutex<[String?]>([])
        let commands = SecretCommands(logger: Logger(label: "test")) { name in
            names.withLock { $0.append(name) }
        }
        _ = try await commands.output(of: command("echo secret"))
        #expect(names.withLock { $0 } == ["the command", nil])
    }

    /// Goal: neither a command nor what it has started outlives its mount, or whoever asked for it.
    @Test(arguments: [true, false])
    func `a command ends with its mount, and with who waits for it`(byMount: Bool) async throws {
        let commands = commands()
        // A pipe that nobody reads tells when the last process that has it is gone.
        let fifo = folder.path("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let reader = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let line = "exec 5>\(fifo); echo >&5; sleep 600; true"
        let waiting = Task { try await commands.output(of: command(line)) }
        await readable(reader)
        if byMount { commands.end() } else { waiting.cancel() }
        await #expect(throws: SecretCommand.Failure.self) { try await waiting.value }
        var rest = [UInt8](repeating: 0, count: 16)
        #expect(read(reader, &rest, 16) == 1)
        await readable(reader)
        #expect(read(reader, &rest, 16) == 0, "somebody still has the pipe")
        guard byMount else { return }
        await #expect(throws: SecretCommand.Failure.self) {
            try await commands.output(of: command("true"))
        }
    }

    private func process(named name: String) -> pid_t? {
        (try? String(contentsOfFile: folder.path(name), encoding: .utf8))
            .flatMap { pid_t($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }

    /// Waits, on a thread that may block, until there is something to be read, or the end.
    private func readable(_ descriptor: Int32) async {
        await withCheckedContinuation { continuation in
            Thread {
                var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                while poll(&entry, 1, -1) < 0, errno == EINTR {}
                continuation.resume()
            }.start()
        }
    }
}
