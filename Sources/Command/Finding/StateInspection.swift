import Control
import Engine
import Host

/// Looks into state directories without changing them.
enum StateInspection {
    /// Returns a report with the size of the directory, which takes as long as it has files.
    static func report(_ entry: StateInventory.Entry) async throws -> StateReport {
        var report =
            if let mount = entry.mount {
                await mounted(entry.directory, mount)
            } else {
                unmounted(entry.directory)
            }
        report.bytesOnDisk = try await onOwnThread {
            let progress = DelayedProgressLine()
            defer { progress.finish() }
            return DiskUsage.bytes(ofDirectory: entry.directory) { files in
                progress.show("measuring \(entry.directory): \(files) files")
            }
        }
        return report
    }

    /// Asks the daemon, as no other process can open its database.
    private static func mounted(
        _ directory: String, _ mount: MountTable.Entry
    ) async -> StateReport {
        if MountLocator.isDead(mount.mountPoint) {
            var report = unmounted(directory)
            report.mountPoint = mount.mountPoint
            report.lastMountPoint = nil
            report.isDead = true
            return report
        }
        var report = StateReport(stateDirectory: directory)
        report.mountPoint = mount.mountPoint
        report.source = MountLabel(parsing: mount.source, userID: nil).source
        do {
            let client = try Daemons().target(mountPoint: mount.mountPoint).client
            let counts = try await client.status(below: [], limit: 0).counts
            report.pending = counts.remaining
            report.pendingBytes = counts.pendingBytes
            report.held = counts.held?.deletions
            report.excluded = counts.excluded
        } catch {
            report.unverified =
                CommandFailure(error)?.problem
                ?? Problem(what: "query the daemon", why: "\(error)")
        }
        return report
    }

    /// Reads the database of a state that is not mounted. A mount that starts meanwhile waits for the
    /// few milliseconds that this takes.
    static func unmounted(_ directory: String) -> StateReport {
        var report = StateReport(stateDirectory: directory)
        report.lastMountPoint = StateDirectory.lastMountPoint(of: directory)
        let database = "\(directory)/\(StateDatabase.name)"
        do {
            try MountChecks.database(in: directory, boot: Boot.identifier)
            let condition = try StateDatabase.condition(ofFileAt: database, thoroughly: false)
            if let refusal = StateDatabase.refusal(condition, database) { throw refusal }
            guard condition == .sound else {
                report.pending = 0
                return report
            }
            report.source = try StateDatabase.source(ofFileAt: database)
            let summary = try StateDatabase.pendingSummary(ofFileAt: database)
            report.pending = summary.count
            report.pendingBytes = summary.bytes
            report.held = summary.held > 0 ? summary.held : nil
            report.excluded = summary.excluded > 0 ? summary.excluded : nil
        } catch let error as EngineError {
            report.unverified = Problem(
                what: "read the state database", why: error.reason, remedy: error.remedy)
        } catch {
            report.unverified =
                CommandFailure(error)?.problem
                ?? Problem(what: "read the state database", why: "\(error)")
        }
        return report
    }
}

extension EngineError {
    fileprivate var reason: String {
        switch kind {
        // The attempt has the reason.
        case .damaged: attempt
        case .failed: "another process uses it, or it cannot be read"
        default: kind.phrase
        }
    }
}
