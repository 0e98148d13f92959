import Glibc
package import Logging
import Synchronization
import SystemCalls

/// Runs the commands of one source, which end with it.
package final class SecretCommands: Sendable {
    private struct State {
        var runs: [ObjectIdentifier: SecretCommandRun] = [:]
        /// The commands whose output was asked for.
        var known: Set<Secret> = []
        var isEnded = false
    }

    private let limit: Duration
    private let keepsTerminal: Bool
    private let logger: Logger
    private let waitsFor: @Sendable (String?) -> Void
    private let memory: SecretMemory
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: Time limit after which a command is killed, as everything waits for it; long
    ///     enough for a command that prompts the user.
    ///   - keepsTerminal: Whether commands may prompt the user on our terminal; processes that they
    ///     start there are then not killed with them.
    ///   - waitsFor: Receives the name of the command that is waited for, and nil once it has
    ///     ended.
    ///   - memory: Has the outputs for other objects like this one.
    package init(
        limit: Duration = .seconds(300), keepsTerminal: Bool = false, logger: Logger,
        waitsFor: @escaping @Sendable (String?) -> Void = { _ in },
        memory: SecretMemory = SecretMemory()
    ) {
        self.limit = limit
        self.keepsTerminal = keepsTerminal
        self.logger = logger
        self.waitsFor = waitsFor
        self.memory = memory
    }

    /// Runs the commands of a source that is in use until the process ends.
    package convenience init(_ world: ProviderEnvironment) {
        self.init(
            keepsTerminal: Self.hasTerminal, logger: world.logger, waitsFor: world.waitsFor,
            memory: world.secrets)
        world.atEnd { self.end() }
    }

    /// Whether this process is in the foreground of a terminal; a daemon is not.
    private static var hasTerminal: Bool {
        (try? Descriptor(opening: "/dev/tty", flags: O_RDWR | O_NOCTTY)) != nil
    }

    /// Returns the output of a command: at most 64 KiB. The first time, that may be an output which the
    /// memory has; later, the command is run again, as that one was refused or has expired. It is killed if
    /// the task is cancelled.
    package func output(
        of command: SecretCommand
    ) async throws(SecretCommand.Failure) -> [UInt8] {
        let isFirst = state.withLock { $0.known.insert(command.line).inserted }
        if isFirst, let output = memory.output(of: command.line) { return output }
        let output = try await run(command)
        memory.keep(output, of: command.line)
        return output
    }

    private func run(_ command: SecretCommand) async throws(SecretCommand.Failure) -> [UInt8] {
        let run = SecretCommandRun(
            command.line, limit: limit, keepsTerminal: keepsTerminal)
        let isLate = state.withLock { state in
            if !state.isEnded { state.runs[ObjectIdentifier(run)] = run }
            return state.isEnded
        }
        guard !isLate else { throw SecretCommand.Failure(problem: "was not run during shutdown") }
        logger.info("waiting for a command", metadata: ["command": "\(command.name)"])
        waitsFor(command.name)
        defer {
            waitsFor(nil)
            state.withLock { _ = $0.runs.removeValue(forKey: ObjectIdentifier(run)) }
        }
        let result: Result<[UInt8], SecretCommand.Failure>?
        do throws(SystemError) {
            // A thread of its own, since the command may take long.
            let pool = try BlockingPool(name: "apus-secret", threads: 1)
            result = await withTaskCancellationHandler {
                await pool.run(onCancel: .abandon) { () throws(SecretCommand.Failure) in
                    try run.run()
                }
            } onCancel: {
                run.stop()
            }
        } catch {
            throw SecretCommand.Failure(problem: "cannot be run: \(error)")
        }
        guard let result else { throw SecretCommand.Failure(problem: "was cancelled") }
        return try result.get()
    }

    /// Kills the running commands, and refuses new ones.
    func end() {
        let runs = state.withLock { state in
            state.isEnded = true
            return state.runs.values
        }
        for run in runs { run.stop() }
    }
}
