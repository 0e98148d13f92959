import ArgumentParser
import Control
import Engine
import Foundation
import Host

struct UnmountCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount",
        abstract: "Ends a mount, once everything is on the remote.",
        discussion: """
            Shows the uploads that are pending and waits for them. Interrupting the wait leaves the \
            folder mounted. A mount whose daemon is dead is cleaned up; the exit status is 1 then if \
            changes wait for the next mount, or may wait, and 0 with --now.

            EXAMPLES:
              apus unmount ~/Cloud
              apus unmount ~/Cloud --now
            """)

    @Argument(help: "Where the folder is mounted.", completion: .directory)
    var mountpoint: String

    @Flag(help: "Do not wait: changes stay queued and go out with the next mount.")
    var now = false

    /// For the daemon's last steps, after the uploads.
    private static let endTimeout: Duration = .seconds(30)

    func run() async throws {
        let table = try MountTable.current()
        if try releaseUnmounted(table) { return }
        let place = try MountLocator.place(of: mountpoint, in: table)
        guard place.path.isEmpty else {
            throw CommandFailure(
                what: "unmount \(mountpoint)", why: "it lies in the mount \(place.mountPoint)",
                remedy: "run `apus unmount \(place.mountPoint)`")
        }
        do {
            try await unmount(try Daemons().target(mountPoint: place.mountPoint))
        } catch let error as ControlError where error.kind == .unreachable {
            try await cleanUp(place.mountPoint, after: error)
        }
    }

    /// A folder whose mount went away without notice is given back.
    ///
    /// - Returns: Whether it was one.
    private func releaseUnmounted(_ table: MountTable) throws -> Bool {
        guard let path = try? MountLocator.resolve(mountpoint, in: table),
            table.mount(at: path) == nil,
            let bare = BareMountPoint(path), bare.isProtected
        else { return false }
        let state = StateLocator.ofDeadMount(at: path, noted: bare.stateDirectory)
        bare.release()
        try end(
            path, "the mount was gone already", done: "the folder can be written to again",
            state, again: "mount it again")
        return true
    }

    private func unmount(_ target: Daemons.Target) async throws {
        let about = try await target.client.about()
        let waiter = try MountWaiter(mountPoint: target.mountPoint, pid: about.pid)
        var line = ProgressLine.standardError()
        let last = try await target.client.unmount(now: now) { line.show($0) }
        line.finish()
        guard last.failed.isEmpty || now else { throw failure(last) }
        try await waiter.wait(timeout: Self.endTimeout)
        if let unverified = last.unverified, !now { throw CommandFailure(unverified) }
        guard last.pending > 0, last.unverified == nil else {
            return Console.printLine("\(last.line).")
        }
        Console.printLine("\(last.line); the next mount sends them.")
    }

    private func failure(_ last: SyncProgress) -> CommandFailure {
        last.failureLines.forEach { Console.printLine("failed \($0)") }
        return CommandFailure(
            what: "unmount \(mountpoint)",
            why: "\(last.unsent) \(last.unsent == 1 ? "item" : "items") could not be sent",
            remedy: "`apus status` shows why; `apus unmount --now` leaves them for the next mount")
    }

    /// - Parameter error: Why the daemon could not be spoken to; stands if it is alive after all.
    private func cleanUp(_ mountPoint: String, after error: ControlError) async throws {
        guard let mount = try MountTable.current().mount(at: mountPoint), mount.isApus else {
            return  // It went away while we spoke to it, which is what was asked for.
        }
        if MountLocator.isDead(mountPoint) {
            let bare = try await detach(mountPoint)
            let state = StateLocator.ofDeadMount(at: mountPoint, noted: bare?.stateDirectory)
            bare?.release()
            return try end(
                mountPoint, "its daemon had died", done: "the mount is gone now", state,
                again: "run `apus mount \(Self.quoted(mount.source)) \(Self.quoted(mountPoint))"
                    + (state.map { " --state-dir \(Self.quoted($0))`" }
                        ?? "`, with the --state-dir that it had, if any"))
        }
        let socket = try MountLocator.socketPath(ofMountAt: mountPoint)
        guard access(socket, F_OK) != 0, errno == ENOENT else { throw error }
        let directory = Path.absolute("\(socket)/..")
        let isLost = access(directory, F_OK) != 0
        let why =
            isLost
            ? "its state directory \(directory) is gone, and with it what is not on the remote yet"
            : "its control socket \(socket) is gone"
        guard now else {
            throw CommandFailure(
                what: "unmount \(mountPoint)", why: why,
                remedy: (isLost ? "copy away what can still be read, then run " : "run ")
                    + "`apus unmount --now \(mountPoint)`, which ends the mount all the same")
        }
        try await detach(mountPoint)?.release()
        Console.printLine(
            "The mount is gone: \(why)."
                + (isLost ? "" : " Pending changes, if any, go out with the next mount."))
    }

    /// - Returns: The directory beneath, for the caller to release.
    private func detach(_ mountPoint: String) async throws -> BareMountPoint? {
        let waiter = try MountWaiter(mountPoint: mountPoint, pid: nil)
        try await DeadMount.remove(mountPoint)
        try await waiter.wait(timeout: Self.endTimeout)
        return BareMountPoint(mountPoint)
    }

    /// The last word on a mount that nobody could be asked about.
    ///
    /// - Parameter state: Its state directory; nil where that is not known, and so not what waits
    ///   in it.
    /// - Throws: `CommandFailure` unless changes may be left: status 0 means that there are none.
    private func end(
        _ mountPoint: String, _ why: String, done: String, _ state: String?, again: String
    ) throws {
        let summary = state.flatMap {
            try? StateDatabase.pendingSummary(ofFileAt: "\($0)/\(StateDatabase.name)")
        }
        let happened = "\(why); \(done)"
        let sentence = happened.prefix(1).uppercased() + happened.dropFirst()
        if summary?.count == 0 {
            return Console.printLine("\(sentence). Everything is on the remote.")
        }
        let place = state ?? "its state directory"
        let changes =
            summary.map { summary in
                let one = summary.count == 1
                return "\(summary.count) \(one ? "change" : "changes") "
                    + "(\(HumanSize.format(summary.bytes))) \(one ? "waits" : "wait") in \(place)"
            } ?? "changes may wait in \(place)"
        guard now else {
            throw CommandFailure(
                what: "see to it that all of \(mountPoint) is on the remote",
                why: "\(happened), and \(changes)", remedy: "to send them, \(again)")
        }
        Console.printLine("\(sentence).")
        Console.printLine(
            "\(changes.prefix(1).uppercased() + changes.dropFirst()); to send them, \(again).")
    }

    /// A word for the shell.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                || (UInt8(ascii: "+")...UInt8(ascii: ":")).contains(byte)
                || byte == UInt8(ascii: "_")
        }
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
