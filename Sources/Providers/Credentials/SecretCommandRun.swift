import CLinux
import Foundation
import Glibc
import Synchronization

/// One run of a shell's command, which another thread may stop.
final class SecretCommandRun: Sendable {
    private struct State {
        /// Set until it is waited for, so that the number is still its own.
        var process: pid_t?
        var isStopped = false
    }

    private static let bytesMax = 64 << 10

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

    /// Kills the command with all that it has started.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            kill(state)
        }
    }

    private func kill(_ state: State) {
        guard let process = state.process else { return }
        // On a terminal the group is our own, and what the command has started there hears the Ctrl-C itself.
        if !keepsTerminal { _ = Glibc.kill(-process, SIGKILL) }
        // Right after its start it leads no group yet.
        _ = Glibc.kill(process, SIGKILL)
    }

    /// - Returns: What it printed, once it has ended.
    func run() throws(SecretCommand.Failure) -> [UInt8] {
        let output = Pipe()
        let reader = output.fileHandleForReading.fileDescriptor
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        let process = try start(output: output.fileHandleForWriting.fileDescriptor)
        try? output.fileHandleForWriting.close()
        let printed = read(reader, untilEndOf: process)
        let isStopped = state.withLock { state in
            if printed == nil { kill(state) }
            state.process = nil
            return state.isStopped
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard !isStopped else { throw SecretCommand.Failure(problem: "was stopped") }
        guard let printed else {
            throw SecretCommand.Failure(problem: "did not end within \(limit)")
        }
        guard status == 0 else { throw SecretCommand.Failure(problem: "failed") }
        return printed
    }

    private func start(output: Int32) throws(SecretCommand.Failure) -> pid_t {
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let started = state.withLock { state -> Result<pid_t, SystemError> in
            guard !state.isStopped else { return .failure(SystemError(ECANCELED)) }
            let started = ChildProgram.start(
                ["/bin/sh", "-c", line.revealed], environment: environment, output: output,
                errors: STDERR_FILENO, keepsTerminal: keepsTerminal)
            state.process = try? started.get()
            return started
        }
        do {
            return try started.get()
        } catch {
            throw SecretCommand.Failure(problem: "cannot be run: \(error)")
        }
    }

    /// Its end counts, not that of its output: what it leaves running may keep that open.
    ///
    /// - Returns: nil where the end has not come within the limit.
    private func read(_ descriptor: Int32, untilEndOf process: pid_t) -> [UInt8]? {
        let deadline = ContinuousClock.now + limit
        let end = apus_pidfd_open(process)
        defer { close(end) }
        var output: [UInt8] = []
        var entries = [descriptor, end].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return nil }
            let milliseconds = Int32(clamping: Int64((left / .milliseconds(1)).rounded(.up)))
            guard poll(&entries, nfds_t(entries.count), milliseconds) > 0 else { continue }
            let hasEnded = entries[1].revents != 0
            // poll(2) passes over negative descriptors: else an output that was closed keeps it awake.
            if !Self.drain(descriptor, into: &output) { entries[0].fd = -1 }
            // A kernel may be too old to tell the end.
            if hasEnded || (end < 0 && entries[0].fd < 0) { return output }
        }
    }

    /// Takes what is there: at most what a pipe holds, as a command may write for ever.
    ///
    /// - Returns: Whether more may come.
    private static func drain(_ descriptor: Int32, into output: inout [UInt8]) -> Bool {
        var piece = [UInt8](repeating: 0, count: 4096)
        for _ in 0..<16 {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count == 0 { return false }
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            output += piece.prefix(min(count, bytesMax - output.count))
        }
        return true
    }
}
