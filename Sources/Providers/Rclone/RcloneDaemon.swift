import Foundation
import Glibc
import Logging
import ProviderSupport
import Synchronization
import SystemCalls

/// A running `rclone rcd`, restarted whenever it ends, until the last reference is gone.
///
/// A thread of its own starts it, reads its output, and waits for its end. That thread lives as long
/// as the process, so the kernel kills rclone if the process is killed.
final class RcloneDaemon: Sendable {
    let directory: RcloneDirectory
    let user = RcloneDaemon.secret()
    let password = RcloneDaemon.secret()
    let keeper: RcloneKeeper

    init(_ program: RcloneProgram, directory: RcloneDirectory, logger: Logger) {
        self.directory = directory
        let listening = program.listening(
            at: directory.socketPath, user: user, password: password)
        let keeper = RcloneKeeper(listening, directory: directory, logger: logger)
        self.keeper = keeper
        Thread.detachNewThread {
            WorkerThread.nameCurrent("apus-rclone")
            keeper.run()
        }
    }

    deinit {
        keeper.stop()
    }

    /// Ends rclone permanently, waits for its end, and removes its directory. May be called again.
    func end() {
        keeper.end()
        directory.remove()
    }

    /// 128 bits from the system, as letters.
    private static func secret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<2).map { _ in String(generator.next(), radix: 36) }.joined()
    }
}

/// The work of the daemon's thread; it outlives the daemon until rclone has ended.
final class RcloneKeeper: Sendable {
    private struct State {
        var process: pid_t?
        var lastWords: String?
        var isStopped = false
    }

    private let program: RcloneProgram
    private let directory: RcloneDirectory
    private let logger: Logger
    private let state = Mutex(State())
    /// Signalled to end the pause before a restart.
    private let stopped = DispatchSemaphore(value: 0)
    /// Signalled once rclone has ended and will not be restarted.
    private let ended = DispatchSemaphore(value: 0)

    private static let pauseMin = 1.0
    private static let pauseMax = 60.0
    /// A process that ran this long did not fail at its start.
    private static let healthySeconds = 60.0
    /// The time that rclone has to end on request: it waits for remotes that do not answer.
    private static let endSecondsMax = 2.0

    init(_ program: RcloneProgram, directory: RcloneDirectory, logger: Logger) {
        self.program = program
        self.directory = directory
        self.logger = logger
    }

    /// The running process, if any.
    var process: pid_t? { state.withLock { $0.process } }
    /// The last line that the program printed before it ended; nil if it has never ended.
    var lastWords: String? { state.withLock { $0.lastWords } }

    func stop() {
        state.withLock { state in
            state.isStopped = true
            // Not reaped yet, so the process id is still valid.
            if let process = state.process { Glibc.kill(process, SIGTERM) }
        }
        stopped.signal()
    }

    /// Stops, and waits until rclone is gone.
    func end() {
        stop()
        if ended.wait(timeout: .now() + Self.endSecondsMax) == .timedOut {
            state.withLock { state in
                if let process = state.process { _ = Glibc.kill(process, SIGKILL) }
            }
            ended.wait()
        }
        // For the next call.
        ended.signal()
    }

    /// Kills a process that hangs, if it is still the running one; another one is started.
    func kill(_ process: pid_t) {
        let isKilled = state.withLock { state in
            state.process == process && Glibc.kill(process, SIGKILL) == 0
        }
        if isKilled {
            logger.warning(
                "rclone killed because it does not answer", metadata: ["pid": "\(process)"])
        }
    }

    func run() {
        defer { ended.signal() }
        var pause = Self.pauseMin
        while !state.withLock({ $0.isStopped }) {
            let start = Date()
            let words = runOnce()
            let isStopped = state.withLock { state in
                state.lastWords = words
                return state.isStopped
            }
            if isStopped { return }
            if Date().timeIntervalSince(start) > Self.healthySeconds { pause = Self.pauseMin }
            logger.warning(
                "rclone ended; restart scheduled",
                metadata: ["pauseSeconds": "\(pause)", "lastWords": "\(words)"])
            if stopped.wait(timeout: .now() + pause) == .success { return }
            pause = min(pause * 2, Self.pauseMax)
        }
    }

    /// Runs rclone until it ends.
    ///
    /// - Returns: The last line of its output.
    private func runOnce() -> String {
        unlink(directory.socketPath)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return SystemError.last.description }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let started = try? start(output: ends[1])
        close(ends[1])
        defer { close(ends[0]) }
        guard let process = started else { return "it cannot be started" }
        let words = listen(to: ends[0])
        state.withLock { $0.process = nil }
        ChildProgram.awaitEnd(of: process)
        return words.isEmpty ? "it printed nothing" : words
    }

    private func start(output: Int32) throws(SystemError) -> pid_t {
        try state.withLock { state throws(SystemError) in
            guard !state.isStopped else { throw SystemError(ECANCELED) }
            let process = try ChildProgram.start(
                [program.path, "rcd"], environment: program.environment, output: output,
                errors: output)
            state.process = process
            return process
        }
    }

    /// Reads lines until the other end is closed.
    private func listen(to descriptor: Int32) -> String {
        var last = ""
        var rest: [UInt8] = []
        while let more = try? PosixIO.readSome(descriptor), !more.isEmpty {
            rest += more
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let line = ForeignWords.line(
                    String(decoding: rest[..<end], as: UTF8.self),
                    charactersMax: RcloneFailure.wordsMax)
                rest.removeSubrange(...end)
                if !line.isEmpty { last = line }
                logger.debug("rclone output", metadata: ["line": "\(line)"])
            }
            if rest.count > 1 << 16 { rest = [] }
        }
        return last
    }
}
