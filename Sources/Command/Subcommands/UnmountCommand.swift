import ArgumentParser
import Control
import Engine
import Foundation
import Host
import Synchronization

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "Ends a mount, once everything is on the remote.",
        discussion: """
            Waits for pending uploads and shows their progress, and what is waited for. Interrupting the \
            wait leaves the folder mounted; so does the end of --timeout, which lists what still waits. --now \
            ends after 30 seconds, or after --timeout, if the daemon does not answer at all. A \
            mount whose daemon is dead is removed; the exit status is then 1 if changes wait for the next \
            mount, or if that is not known, and 0 with --now. It is 1 too if a program changes a file in \
            the last moment.

            EXAMPLES:
              apus unmount ~/Cloud
              apus unmount ~/Cloud --timeout 10m
              apus unmount ~/Cloud --now
            """,
        aliases: ["umount"])

    @Argument(
        help: "Where the folder is mounted, or its name in the configuration file.",
        completion: .directory)
    var mountpoint: String

    @Flag(help: "Do not wait: changes stay queued and are sent by the next mount.")
    var now = false

    @Option(
        help: ArgumentHelp(
            "The time after which the folder stays mounted if changes are not on the remote.",
            valueName: "time"),
        transform: Duration.parse)
    var timeout: Duration?

    /// Limit for the daemon's last steps, after the uploads.
    private static let endTimeout: Duration = .seconds(30)

    mutating func run() async throws {
        mountpoint = ConfiguredMounts.path(for: mountpoint)
        let table = try MountTable.current()
        if try releaseUnmounted(table) { return }
        let place = try MountLocator.place(of: mountpoint, in: table)
        guard place.path.isEmpty else {
            throw CommandFailure(
                what: "unmount \(mountpoint)", why: "it lies in the mount \(place.mountPoint)",
                remedy: "run `apus unmount \(place.mountPoint)`")
        }
        do {
            try await unmount(try await target(mountPoint: place.mountPoint))
        } catch let error as ControlError where error.kind == .unreachable {
            try await cleanUp(place.mountPoint, after: error)
        }
    }

    /// Restores a folder from which a dead mount was removed by another program.
    ///
    /// - Returns: Whether it was such a folder.
    private func releaseUnmounted(_ table: MountTable) throws -> Bool {
        guard let path = try? MountLocator.resolve(mountpoint, in: table),
            table.mount(at: path) == nil,
            let bare = BareMountPoint(path), bare.isProtected
        else { return false }
        let state = StateLocator.ofDeadMount(at: path, named: bare.stateDirectory)
        bare.release()
        try end(
            path, "the mount was already gone", done: "the folder can be written to again",
            state, again: "mount it again")
        return true
    }

    /// Limit for the answers of the daemon before the uploads; nil for none.
    private var answerTime: Duration? {
        timeout.map { $0 + DaemonAnswer.grace } ?? (now ? Self.endTimeout : nil)
    }

    private static let remedy =
        "end its process with `kill -9`, which loses no change that was written, and run this again; or allow "
        + "it more time with --timeout"

    private func target(mountPoint: String) async throws -> Daemons.Target {
        let daemons = try Daemons()
        return try await DaemonAnswer.wait(
            from: mountPoint, within: answerTime, remedy: Self.remedy
        ) { _ in
            try await onOwnThread { daemons.target(mountPoint: mountPoint) }
        }
    }

    private func unmount(_ target: Daemons.Target) async throws {
        let about = try await DaemonAnswer.wait(
            from: target.mountPoint, within: answerTime, remedy: Self.remedy
        ) { _ in try await target.client.about() }
        let waiter = try MountWaiter(mountPoint: target.mountPoint, pid: about.pid)
        let (now, timeout) = (now, timeout)
        let last = try await DaemonAnswer.wait(
            from: target.mountPoint, within: timeout.map { $0 + Self.endTimeout },
            remedy: Self.remedy
        ) { answered in
            let line = Mutex(ProgressLine.standardError())
            defer { line.withLock { $0.finish() } }
            return try await target.client.unmount(now: now, timeout: timeout) { progress in
                answered()
                line.withLock { $0.show(progress) }
            }
        }
        guard !last.isInVain || now else { throw failure(last) }
        try await waiter.wait(timeout: Self.endTimeout)
        try end(after: last)
    }

    /// Reports the end of a mount.
    ///
    /// - Parameter last: The changes that were left.
    /// - Throws: `CommandFailure` without `--now`, if these are any, or not known: programs may change files until
    ///   the last moment.
    func end(after last: SyncProgress) throws {
        if let unverified = last.unverified, !now { throw CommandFailure(unverified) }
        guard last.remaining > 0, last.unverified == nil else {
            return Console.printLine("\(last.line).")
        }
        guard now else {
            throw CommandFailure(
                what: "bring all of \(mountpoint) to the remote",
                why: "programs changed or closed "
                    + counted(last.remaining, "item", "items")
                    + " while it was unmounted; the mount is gone now",
                remedy: "mount it again, which sends them")
        }
        Console.printLine("\(last.line); the next mount sends them.")
    }

    private func failure(_ last: SyncProgress) -> CommandFailure {
        Console.printFailures(of: last)
        return CommandFailure(
            what: "unmount \(mountpoint)",
            why: counted(last.unsent, "item", "items")
                + (last.isTimedOut ? " not sent in time" : " could not be sent"),
            remedy: "`apus status` shows why; `apus unmount --now` leaves them for the next mount")
    }

    /// Removes a mount whose daemon did not answer.
    ///
    /// - Parameter error: The failure to connect, thrown if the daemon is alive after all.
    private func cleanUp(_ mountPoint: String, after error: ControlError) async throws {
        guard let mount = try MountTable.current().mount(at: mountPoint), mount.isApus else {
            return  // It ended during the request.
        }
        if MountLocator.isDead(mountPoint) {
            let label = MountLabel(parsing: mount.source, userID: mount.userID)
            let state = StateLocator.ofDeadMount(at: mountPoint, named: label.stateDirectory)
            try await detach(mountPoint)
            return try end(
                mountPoint, "its daemon had died", done: "the mount is gone now", state,
                again: "run `apus mount \(label.source.shellWord) \(mountPoint.shellWord)"
                    + (state.map { " --state-dir \($0.shellWord)`" }
                        ?? "`, with the --state-dir that it had, if any"))
        }
        let socket = try MountLocator.socketPath(ofMountAt: mountPoint)
        guard access(socket, F_OK) != 0, errno == ENOENT else { throw error }
        let directory = Path.absolute("\(socket)/..")
        let isLost = access(directory, F_OK) != 0
        let why =
            isLost
            ? "its state directory \(directory) is gone, and with it all changes not yet on the remote"
            : "its control socket \(socket) is gone"
        guard now else {
            throw CommandFailure(
                what: "unmount \(mountPoint)", why: why,
                remedy: (isLost ? "copy the files that can still be read, then run " : "run ")
                    + "`apus unmount --now \(mountPoint)`, which ends the mount anyway")
        }
        try await detach(mountPoint)
        Console.printLine(
            "The mount is gone: \(why)."
                + (isLost ? "" : " Pending changes, if any, are sent by the next mount."))
    }

    /// Removes the mount, and releases the directory beneath.
    private func detach(_ mountPoint: String) async throws {
        let waiter = try MountWaiter(mountPoint: mountPoint, pid: nil)
        try await DeadMount.remove(mountPoint)
        try await waiter.wait(timeout: Self.endTimeout)
        BareMountPoint(mountPoint)?.release()
    }

    /// Reports the end of a mount that had no daemon.
    ///
    /// - Parameter state: Its state directory; nil if that is not known, so that changes may wait.
    /// - Throws: `CommandFailure` if changes wait or may wait, except with `--now`.
    private func end(
        _ mountPoint: String, _ why: String, done: String, _ state: String?, again: String
    ) throws {
        let summary = state.flatMap {
            try? StateDatabase.pendingSummary(ofFileAt: "\($0)/\(StateDatabase.name)")
        }
        let happened = "\(why); \(done)"
        let sentence = happened.prefix(1).uppercased() + happened.dropFirst()
        if let summary, summary.count == 0 {
            return Console.printLine(
                "\(sentence). "
                    + "\(SyncProgress.nothingPending(held: summary.held, excluded: summary.excluded))."
            )
        }
        let place = state ?? "its state directory"
        let changes =
            summary.map { summary in
                "\(counted(summary.count, "change", "changes")) (\(HumanSize.format(summary.bytes))) "
                    + "\(summary.count == 1 ? "waits" : "wait") in \(place)"
            } ?? "it is not known whether changes wait in \(place)"
        guard now else {
            throw CommandFailure(
                what: "bring all of \(mountPoint) to the remote",
                why: "\(happened), and \(changes)", remedy: "to send them, \(again)")
        }
        Console.printLine("\(sentence).")
        Console.printLine(
            "\(changes.prefix(1).uppercased() + changes.dropFirst()); to send them, \(again).")
    }
}
