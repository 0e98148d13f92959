import CLinux
import Foundation
import Glibc
import Synchronization
import SystemCalls

/// One run of a shell command, which another thread may stop.
final class SecretCommandRun: Sendable {
    private struct State {
        /// Set until the process is waited for, so that its number is not reused.
        var process: pid_t?
        var isStopped = false
    }

    private static let bytesMax = 64 << 10
    private static let errorBytesMax = 1 << 10

    private let line: Secret
    private let limit: Duration
    private let keepsTerminal: Bool
    private let state = Mutex(State())

    /// - Parameter keepsTerminal: See ``ChildProgram``.
    init(_ line: Secret, limit: Duration, keepsTerminal: Bool) {
        self.line = line
        self.limit = limit
        self.keepsTerminal = keepsTerminal
    }

    /// Kills the command and all processes that it has started.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            kill(state)
        }
    }

    private func kill(_ state: State) {
        guard let process = state.process else { return }
        // With the terminal, the process group is our own, and processes that the command has
        // started there receive Ctrl-C themselves.
        if !keepsTerminal { _ = Glibc.kill(-process, SIGKILL) }
        // Immediately after its start it does not lead a group yet.
        _ = Glibc.kill(process, SIGKILL)
    }

    /// The output of the command so far.
    private struct Words {
        var output: [UInt8] = []
        /// The beginning of its standard error.
        var errors: [UInt8] = []
        var hasEnded = false

        /// Returns a failure with a problem and the command's error message, if any.
        func failure(_ problem: String) -> SecretCommand.Failure {
            let words = ForeignWords.line(
                String(decoding: errors, as: UTF8.self), charactersMax: 300)
            return SecretCommand.Failure(problem: words.isEmpty ? problem : "\(problem): \(words)")
        }
    }

    /// - Returns: Its output, once it has ended.
    func run() throws(SecretCommand.Failure) -> [UInt8] {
        let pipes = (output: Pipe(), errors: Pipe())
        let process = try start(output: pipes.output, errors: pipes.errors)
        let words = listen(to: pipes.output, pipes.errors, untilEndOf: process)
        let isStopped = state.withLock { state in
            if !words.hasEnded { kill(state) }
            state.process = nil
            return state.isStopped
        }
        let status = ChildProgram.awaitEnd(of: process)
        guard !isStopped else { throw SecretCommand.Failure(problem: "was stopped") }
        guard words.hasEnded else { throw words.failure("did not end within \(limit)") }
        guard status != 0 else { return words.output }
        let signal = status & 0x7F
        throw words.failure(
            signal == 0
                ? "failed with status \(status >> 8 & 0xFF)" : "was ended by signal \(signal)")
    }

    private func start(output: Pipe, errors: Pipe) throws(SecretCommand.Failure) -> pid_t {
        let writers = (output.fileHandleForWriting, errors.fileHandleForWriting)
        defer {
            try? writers.0.close()
            try? writers.1.close()
        }
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        do throws(SystemError) {
            return try state.withLock { state throws(SystemError) in
                guard !state.isStopped else { throw SystemError(ECANCELED) }
                let process = try ChildProgram.start(
                    ["/bin/sh", "-c", line.revealed], environment: environment,
                    output: writers.0.fileDescriptor, errors: writers.1.fileDescriptor,
                    keepsTerminal: keepsTerminal)
                state.process = process
                return process
            }
        } catch {
            throw SecretCommand.Failure(problem: "cannot be run: \(error)")
        }
    }

    /// Reads until the process ends, even if its output stays open: its child processes may keep it
    /// open.
    private func listen(to output: Pipe, _ errors: Pipe, untilEndOf process: pid_t) -> Words {
        let deadline = ContinuousClock.now + limit
        let end = apus_pidfd_open(process)
        defer { close(end) }
        let readers = [output, errors].map { $0.fileHandleForReading.fileDescriptor }
        for reader in readers { _ = fcntl(reader, F_SETFL, O_NONBLOCK) }
        var entries = (readers + [end]).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        var words = Words()
        while !words.hasEnded {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { break }
            let milliseconds = Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
            guard poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { continue }
            words.hasEnded = entries[2].revents != 0
            // poll(2) ignores negative descriptors; a closed output would wake it continually.
            if !Self.drain(readers[0], { words.output.append($0, max: Self.bytesMax) }) {
                entries[0].fd = -1
            }
            if !Self.drain(
                readers[1],
                {
                    words.errors.append($0, max: Self.errorBytesMax)
                    // For the log, or for prompts on a terminal.
                    _ = Glibc.write(STDERR_FILENO, Array($0), $0.count)
                })
            {
                entries[1].fd = -1
            }
            // An old kernel may not report the end.
            if end < 0, entries[0].fd < 0, entries[1].fd < 0 { words.hasEnded = true }
        }
        return words
    }

    /// Reads the available bytes: at most the capacity of a pipe, as a command may write without
    /// end.
    ///
    /// - Returns: Whether more may come.
    private static func drain(_ descriptor: Int32, _ take: (ArraySlice<UInt8>) -> Void) -> Bool {
        var piece = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<16 {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return false }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            take(piece.prefix(count))
        }
        return true
    }
}

extension [UInt8] {
    fileprivate mutating func append(_ bytes: ArraySlice<UInt8>, max: Int) {
        self += bytes.prefix(max - count)
    }
}
