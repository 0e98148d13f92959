import Control
import Engine
import Foundation
import Host

/// Removes a state directory that is not mounted.
struct StateRemoval {
    /// The directory, without symbolic links.
    private let path: String
    /// Whether changes that exist nowhere else are removed too.
    private let discards: Bool

    init(_ path: String, discards: Bool) {
        self.path = Path.resolved(path) ?? path
        self.discards = discards
    }

    /// - Returns: A sentence for the user.
    /// - Throws: `CommandFailure` if it is in use, is not a state, or holds what exists nowhere else.
    func run() throws -> String {
        guard StateDirectory.isState(path) else { throw refusal("it is not the state of a mount") }
        if let mount = StateInventory(try MountTable.current()).mount(of: path) {
            throw refusal(
                "it is mounted on \(mount.mountPoint)",
                "unmount that folder first (apus unmount \(mount.mountPoint))")
        }
        let held = try StateDirectory(checking: path)
        if let foreign = try held.foreignName() {
            throw refusal(
                "it holds other files, such as \"\(foreign)\"", "move them elsewhere first")
        }
        let loss = loss
        if let loss, !discards {
            throw refusal(
                "it holds \(loss.things)",
                loss.remedy + ", or discard them with `apus forget --discard \(path)`")
        }
        let mountPoint = StateDirectory.lastMountPoint(of: path)
        try remove(held)
        // The directory beneath a mount that has vanished still refuses new names.
        if let bare = mountPoint.flatMap(BareMountPoint.init), bare.stateDirectory == path {
            bare.release()
        }
        return "Removed \(path)" + (loss.map { ", and with it \($0.things)." } ?? ".")
    }

    /// Continues a removal that was interrupted. A directory that is in use, or holds anything else,
    /// stays.
    ///
    /// - Returns: Whether there is nothing left.
    @discardableResult
    static func finish(_ path: String) -> Bool {
        do {
            let held = try StateDirectory(checking: path)
            guard try held.foreignName() == nil else { return false }
            try StateRemoval(path, discards: true).remove(held)
            return true
        } catch {
            return false
        }
    }

    private func remove(_ held: StateDirectory) throws {
        let progress = DelayedProgressLine()
        defer { progress.finish() }
        try held.remove { files in progress.show("removing \(path): \(files) files") }
    }

    /// What exists nowhere else, and how to save it.
    private struct Loss {
        let things: String
        let remedy: String
    }

    private var loss: Loss? {
        let report = StateInspection.unmounted(path)
        guard let pending = report.pending else {
            let reason = report.unverified.map { " (\($0.what): \($0.why))" } ?? ""
            return Loss(
                things: "an unknown number of changes" + reason,
                remedy: "repair it with `apus check \(path)`")
        }
        if pending > 0 {
            let size = HumanSize.format(report.pendingBytes ?? 0)
            return Loss(
                things: "\(counted(pending, "change", "changes")) (\(size)) not yet on the remote",
                remedy: "send them with `\(StateLocator.mountCommand(path, report.source))`")
        }
        if let held = report.held {
            return Loss(
                things: "\(counted(held, "item", "items")) that the remote has deleted",
                remedy: "mount it, and copy them elsewhere")
        }
        if let excluded = report.excluded {
            return Loss(
                things: "\(counted(excluded, "item", "items")) that --exclude keeps only here",
                remedy: "copy them elsewhere after "
                    + "`\(StateLocator.mountCommand(path, report.source))`")
        }
        let lost = "\(path)/\(StateFiles.lostFolder)"
        let rescued = (try? FileManager.default.subpathsOfDirectory(atPath: lost).count) ?? 0
        guard rescued == 0 else {
            return Loss(
                things: "\(counted(rescued, "file", "files")) without a place in "
                    + "\(StateFiles.lostFolder)",
                remedy: "move them elsewhere")
        }
        return trashLoss(report.source)
    }

    /// The remote has deleted the files in the trash, so that their only copies are here.
    private func trashLoss(_ source: String?) -> Loss? {
        let trash = try? StateDatabase.trash(ofFileAt: "\(path)/\(StateDatabase.name)")
        guard let trash, !trash.isEmpty else { return nil }
        let size = HumanSize.format(trash.reduce(0) { $0 + $1.size })
        return Loss(
            things:
                "the only copies of \(counted(trash.count, "file", "files")) (\(size)) in its trash",
            remedy: "`apus trash list \(path)` shows them; bring them back with "
                + "`\(StateLocator.mountCommand(path, source))` and `apus trash restore`")
    }

    private func refusal(_ why: String, _ remedy: String? = nil) -> CommandFailure {
        CommandFailure(what: "forget \(path)", why: why, remedy: remedy)
    }
}
