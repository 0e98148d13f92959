import Glibc
import Testing

/// A program that was started, with nothing on its standard input.
///
/// It runs under `timeout`, so that it does not outlive its test for long. Its output goes to files,
/// not pipes: a daemon that keeps them open must not block the test.
final class Program: Sendable {
    /// The outcome of a program.
    struct Result: CustomStringConvertible {
        let command: String
        let status: Int32
        let output: String
        let errors: String

        func expectSuccess(sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(status == 0, Comment(rawValue: description), sourceLocation: sourceLocation)
        }

        var errorLines: [Substring] { errors.split(separator: "\n") }

        var description: String {
            "\(command): exit status \(status)\n\(output)\(errors)"
        }
    }

    /// Of a server, as long as a test may take, see scripts/run-tests.
    static let serverLimitSeconds = 20 * 60

    private let command: [String]
    private let process: pid_t
    private let output: Int32
    private let errors: Int32

    static func start(
        _ command: [String], limitSeconds: Int = 180, environment: [String: String] = [:]
    ) throws -> Program {
        try Program(command, limitSeconds: limitSeconds, environment: environment)
    }

    /// Runs a program to its end, whatever its exit status.
    @discardableResult
    static func run(
        _ command: String..., limitSeconds: Int = 180, environment: [String: String] = [:]
    ) throws -> Result {
        try start(command, limitSeconds: limitSeconds, environment: environment).wait()
    }

    /// Runs a program that has to succeed.
    @discardableResult
    static func require(
        _ command: String..., limitSeconds: Int = 180, environment: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try start(command, limitSeconds: limitSeconds, environment: environment)
            .wait()
        try #require(
            result.status == 0, Comment(rawValue: result.description),
            sourceLocation: sourceLocation)
        return result.output
    }

    private init(
        _ command: [String], limitSeconds: Int, environment: [String: String]
    ) throws {
        self.command = command
        output = try Self.anonymousFile()
        errors = try Self.anonymousFile()
        let settings = environment.map { "\($0.key)=\($0.value)" }
        let wrapped =
            ["timeout", "--kill-after=5", "\(limitSeconds)", "env"] + settings + command
        process = try Self.spawn(wrapped, output: output, errors: errors)
    }

    deinit {
        close(output)
        close(errors)
    }

    func signal(_ number: Int32) { kill(process, number) }

    /// Sends a signal to it and all that it has started.
    func signalAll(_ number: Int32) { kill(-process, number) }

    /// Stops it and all that it has started until they get `SIGCONT`; returns once each thread stands
    /// still, since a signal to a process reaches its threads later.
    func pauseAll() throws {
        signalAll(SIGSTOP)
        let members = try Files.names(in: "/proc").compactMap { pid_t($0) }.filter {
            getpgid($0) == process
        }
        try eventually("each of its threads stands still") {
            members.allSatisfy(Self.standsStill)
        }
    }

    /// Whether each thread of a process is stopped, or the process is gone.
    static func standsStill(_ process: pid_t) -> Bool {
        let threads = (try? Files.names(in: "/proc/\(process)/task")) ?? []
        return threads.allSatisfy { thread in
            let path = "/proc/\(process)/task/\(thread)/stat"
            guard let status = try? OpenFile(path, O_RDONLY).read(4_096) else { return true }
            let text = String(decoding: status, as: UTF8.self)
            return text.contains(") T ") || text.contains(") Z ")
        }
    }

    /// Kills it and all that it has started, at once. `timeout` leads their process group.
    func killAll() { kill(-process, SIGKILL) }

    /// The output so far.
    var outputSoFar: String { Self.contents(of: output) }
    var errorsSoFar: String { Self.contents(of: errors) }

    /// Whether it still runs.
    var isRunning: Bool {
        var information = siginfo_t()
        let result = waitid(
            P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT)
        return result == 0 && information.si_signo == 0
    }

    /// Returns once it has ended; to be called once.
    func wait() throws -> Result {
        var status: Int32 = 0
        while waitpid(process, &status, 0) == -1 {
            try #require(errno == EINTR)
        }
        let signal = status & 0x7F
        return Result(
            command: command.joined(separator: " "),
            status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal,
            output: Self.contents(of: output), errors: Self.contents(of: errors))
    }

    private static func spawn(
        _ command: [String], output: Int32, errors: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        posix_spawn_file_actions_adddup2(&actions, errors, 2)

        // The threads that run tests block most signals, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))

        let arguments = command.map { strdup($0) } + [nil]
        defer { arguments.forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawnp(
            &process, command[0], &actions, &attributes, arguments, environ)
        guard code == 0 else { throw CallError(call: "run \(command)", code: code) }
        return process
    }

    /// A file without a name that goes when it is closed.
    private static func anonymousFile() throws -> Int32 {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/output.XXXXXX".utf8CString)
        let descriptor = try CallError.check(mkstemp(&template), "mkstemp \(folder)")
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        return descriptor
    }

    private static func contents(of descriptor: Int32) -> String {
        let size = Int(max(0, lseek(descriptor, 0, SEEK_END)))
        var bytes = [UInt8](repeating: 0, count: size)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, size, 0) }
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    }
}
