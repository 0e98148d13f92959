import CLinux
import Control
import Foundation
import Host
import SystemCalls

/// Starts this program as a mount's daemon and waits until the folder is usable.
struct DaemonLauncher {
    let options: MountOptions

    /// The daemon's descriptor of the ``StartReporter`` pipe.
    private static let reportDescriptor: Int32 = 3

    /// - Throws: `CommandFailure` with the daemon's reason, or with its exit status if it gave none.
    func launch() async throws {
        // Takes and releases the state directory, so that an error is reported before a daemon is
        // started and before another daemon's log is opened.
        let isMade = try StateDirectory(
            path: options.stateDirectory, mountPoint: options.mountPoint
        ).isMade
        do {
            try await start()
        } catch {
            // The daemon has removed a new state; with anything left in it, the directory stays.
            if isMade { rmdir(options.stateDirectory) }
            throw error
        }
    }

    private func start() async throws {
        closeOnSpawn()
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw failure("make a pipe", errno) }
        ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
        let (reader, writer) = (ends[0], ends[1])
        defer { close(reader) }
        let pid: pid_t
        do {
            defer { close(writer) }
            pid = try spawn(reportingTo: writer)
        } catch {
            try? StateDirectory(
                path: options.stateDirectory, mountPoint: options.mountPoint
            ).removeIfNew()
            throw error
        }
        let report = try await onOwnThread { readReport(reader) }
        try await evaluate(report, pid: pid)
    }

    private var logPath: String { DaemonLog.path(in: options.stateDirectory) }

    private func failure(_ what: String, _ number: Int32) -> CommandFailure {
        CommandFailure(
            what: what, why: "\(SystemError(number))".lowercased(),
            remedy: number == ENOSPC || number == EDQUOT
                ? "free some space, or choose a folder on another disk with --state-dir"
                : "choose another folder with --state-dir")
    }

    /// Keeps inherited descriptors from the daemon: the reader of an inherited pipe would wait for its
    /// end during the whole life of the mount.
    private func closeOnSpawn() {
        for descriptor in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))
            ?? []
        {
            if let number = Int32(descriptor), number > 2 {
                _ = fcntl(number, F_SETFD, FD_CLOEXEC)
            }
        }
    }

    private func spawn(reportingTo writer: Int32) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, 1, logPath, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        posix_spawn_file_actions_adddup2(&actions, writer, Self.reportDescriptor)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(APUS_SPAWN_SETSID))
        let arguments =
            ["apus"] + options.arguments(readyDescriptor: Self.reportDescriptor)
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        var pid: pid_t = 0
        let code = withCStrings(arguments) { arguments in
            withCStrings(environment) { environment in
                posix_spawn(&pid, Self.program, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw failure("start the daemon with its log \(logPath)", code) }
        return pid
    }

    /// This program's file, which gives the daemon its name in lists of processes, or the link to it,
    /// which works even after an upgrade has removed the file.
    private static var program: String {
        let link = "/proc/self/exe"
        let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link)
        return path.flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? link
    }

    private func evaluate(_ bytes: [UInt8], pid: pid_t) async throws {
        if let report = try? ControlJSON.decode(StartReport.self, from: bytes) {
            if let problem = report.error { throw CommandFailure(problem) }
            for note in report.notes ?? [] { Console.complain("note: \(note)") }
            return
        }
        let status = try await onOwnThread { ChildProgram.awaitEnd(of: pid) }
        let signal = status & 0x7F
        throw CommandFailure(
            what: "mount on \(options.mountPoint)",
            why: signal != 0
                ? "the daemon was ended by signal \(signal) without a message"
                : "the daemon ended with status \(status >> 8 & 0xFF) without a message",
            remedy: "see \(logPath)")
    }

    /// Reads until the daemon is ready or has ended, and shows the reason of a delay on a terminal.
    ///
    /// - Returns: The last line; empty if the daemon ended without one.
    private func readReport(_ descriptor: Int32) -> [UInt8] {
        var line = ProgressLine.standardError()
        defer { line.finish() }
        let isShown = isatty(STDERR_FILENO) == 1
        let shownFrom = ContinuousClock.now + .seconds(1)
        var reason = ""
        var received: [UInt8] = []
        // This end stays open until the report is complete: the daemon ends if it is closed.
        while true {
            if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
                let report = Array(received[..<end])
                guard let name = try? ControlJSON.decode(StartReport.self, from: report).waitsFor
                else { return report }
                received.removeSubrange(...end)
                reason = name
            } else if isShown, !PosixIO.poll(descriptor, for: POLLIN, until: shownFrom) {
                line.show(
                    (reason.isEmpty
                        ? "Connecting to \(options.source)" : "Waiting for \(reason)")
                        + "; Ctrl-C cancels")
                _ = PosixIO.poll(descriptor, for: POLLIN)
            } else {
                guard let more = try? PosixIO.readSome(descriptor), !more.isEmpty else {
                    return received
                }
                received += more
            }
        }
    }
}
