import Foundation
import Glibc
import Synchronization
import Testing

/// A folder that plays the cloud, mounted by `apus` as a user would mount it.
final class MountedFolder: Sendable {
    /// How to mount.
    struct Options: Sendable {
        /// The source's latency and rate: `rate=4MiB`.
        var source = ""
        /// The source to mount instead of a folder of this mount's own.
        var otherSource: String?
        /// Further options of `apus mount`.
        var mount: [String] = []
        /// Variables of the daemon in addition to those of the tests.
        var environment: [String: String] = [:]
        /// The limit of the daemon's descriptors, `SOFT:HARD`, as prlimit(1) takes it; nil for no change.
        var descriptors: String?
        /// Where the state directory is made; a temporary directory by default.
        var stateParent: String?
        /// Where the folder that plays the cloud is made; a temporary directory by default.
        var remoteParent: String?
        /// After how long the mount of a hanging test is cut off, so that its system calls fail.
        var limitSeconds = 240
    }

    /// Everything of this mount is below here.
    let base: String
    /// The folder that plays the cloud.
    let remote: String
    /// Where it is mounted.
    let point: String
    /// The daemon's own directory.
    let state: String
    private let options: Options
    /// Held while nothing is mounted, and by callers that need a mount.
    private let gate = Mutex(())
    private let remounts = Mutex(0)

    /// Makes a folder, lets `populate` fill it, mounts it, and unmounts it after `body` whatever
    /// happens.
    static func with(
        _ options: Options = Options(), populate: (_ remote: String) throws -> Void = { _ in },
        _ body: (MountedFolder) throws -> Void
    ) throws {
        let folder = try MountedFolder(options)
        defer { folder.remove() }
        try populate(folder.remote)
        let watchdog = DispatchWorkItem {
            Issue.record("the test hung for \(options.limitSeconds) s; it is cut off its mount")
            folder.cutOff()
        }
        DispatchQueue.global().asyncAfter(
            deadline: .now() + .seconds(options.limitSeconds), execute: watchdog)
        defer { watchdog.cancel() }
        do {
            try folder.mount()
            try body(folder)
        } catch {
            print("The daemon's log ends with:\n\(folder.logTail)")
            throw error
        }
    }

    /// Makes the directories, and mounts nothing yet.
    init(_ options: Options = Options()) throws {
        base = try Files.makeTemporaryDirectory("m")
        remote = "\(options.remoteParent ?? base)/remote"
        point = "\(base)/mount"
        state = "\(options.stateParent ?? base)/state"
        self.options = options
        try Files.makeDirectory(remote)
        try Files.makeDirectory(point)
    }

    var source: String {
        if let other = options.otherSource { return other }
        return "folder:\(remote)" + (options.source.isEmpty ? "" : "?\(options.source)")
    }

    // MARK: Actions of a user

    func mount(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let command = ["mount", source, point, "--state-dir", state] + options.mount
        let limits = options.descriptors.map { ["prlimit", "--nofile=\($0)"] } ?? []
        try require(
            limits + [Apus.path] + command, environment: options.environment,
            sourceLocation: sourceLocation)
        #expect(isMounted, "apus mount returned before the folder was mounted")
    }

    /// Waits until everything is on the remote.
    func sync(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try require([Apus.path, "sync", point], sourceLocation: sourceLocation)
    }

    func evict(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try require([Apus.path, "evict", local(name)], sourceLocation: sourceLocation)
    }

    func unmount(now: Bool = false, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try require(
            [Apus.path, "unmount", point] + (now ? ["--now"] : []), sourceLocation: sourceLocation)
        #expect(!isMounted, "apus unmount returned before the folder was unmounted")
    }

    /// Returns the `user.apus.state` of a file.
    func state(of name: String) throws -> String {
        try Program.require(
            "getfattr", "--absolute-names", "--only-values", "-n", "user.apus.state", local(name))
    }

    func local(_ name: String) -> String { "\(point)/\(name)" }

    func remote(_ name: String) -> String { "\(remote)/\(name)" }

    // MARK: Faults

    /// The daemon's process, from the first line of the state directory's lock.
    var daemon: pid_t? {
        guard let lock = try? Files.read("\(state)/lock") else { return nil }
        let line = lock.prefix { $0 != UInt8(ascii: "\n") }
        return pid_t(String(decoding: line, as: UTF8.self).filter { !$0.isWhitespace })
    }

    /// Ends the daemon as a crash would; the mount stays, and is dead.
    func killDaemon(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let process = try #require(daemon, "no process in the lock", sourceLocation: sourceLocation)
        try CallError.check(kill(process, SIGKILL), "kill \(process)")
        try eventually("the daemon is gone", sourceLocation: sourceLocation) {
            !Self.isRunning(process)
        }
    }

    /// Takes a dead mount away and mounts again.
    func remount(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try gate.withLock { _ in
            try Program.run("fusermount3", "-uz", point)
            try mount(sourceLocation: sourceLocation)
        }
        remounts.withLock { $0 += 1 }
    }

    /// How often ``remount(sourceLocation:)`` succeeded.
    var remountCount: Int { remounts.withLock { $0 } }

    /// Runs `body` at a time when there is a mount, dead or alive: it fails in a dead one, but
    /// never works in the bare directory below.
    func whileMounted(_ body: () throws -> Void) throws {
        try gate.withLock { _ in try body() }
    }

    /// Whether the process that the lock names is there.
    var isDaemonRunning: Bool { daemon.map(Self.isRunning) ?? false }

    var isMounted: Bool { mountPoints.contains(point) }

    /// Where anything is mounted below ``base``.
    private var mountPoints: [String] {
        let table: String
        do {
            table = try Files.mountTable()
        } catch {
            preconditionFailure("the mounts are unknown: \(error)")
        }
        return table.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            return fields.count > 4 && fields[4].hasPrefix(base) ? String(fields[4]) : nil
        }
    }

    /// The number of requests of each kind that the kernel has made since the mount, as the log has them
    /// with `APUS_LOG=trace`.
    var requests: [String: Int] {
        guard let log = try? Files.read("\(state)/log") else { return [:] }
        let words = String(decoding: log, as: UTF8.self).split { $0 == " " || $0 == "\n" }
        let names = words.filter { $0.hasPrefix("request=") }.map { String($0.dropFirst(8)) }
        return names.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    var logTail: String {
        guard let log = try? Files.read("\(state)/log") else { return "(no log)" }
        return String(decoding: log.suffix(4096), as: UTF8.self)
    }

    // MARK: The end

    /// Unmounts as users do, then by force, and removes everything.
    func remove() {
        let process = isMounted ? daemon : nil
        if isMounted { _ = try? Apus.run("unmount", "--now", point, limitSeconds: 20) }
        if isMounted {
            Issue.record("apus unmount --now left the folder mounted")
            cutOff()
        }
        if let process { awaitEnd(of: process) }
        for other in mountPoints {
            Issue.record("left mounted: \(other)")
            _ = try? Program.run("fusermount3", "-uz", other)
        }
        _ = try? Program.run("chattr", "-i", point)
        if getenv("KEEP") == nil {
            _ = try? Program.run("rm", "-rf", "--one-file-system", base, state)
        }
    }

    private func awaitEnd(of process: pid_t) {
        do {
            try eventually("the daemon ends after unmounting", within: .seconds(60)) {
                !Self.isRunning(process)
            }
        } catch {
            kill(process, SIGKILL)
        }
    }

    /// Ends the daemon and detaches the mount; system calls that hang in it fail.
    private func cutOff() {
        if let process = daemon, Self.isRunning(process) { kill(process, SIGKILL) }
        _ = try? Program.run("fusermount3", "-uz", point)
    }

    /// Whether the process is there and not merely waiting to be reaped by its parent.
    static func isRunning(_ process: pid_t) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let name = status.lastIndex(of: ")")
        else { return false }
        guard status[status.index(after: name)...].hasPrefix(" Z") else { return true }
        // The first thread may have ended before others, which hold the files and their locks.
        return (try? Files.names(in: "/proc/\(process)/task").count > 1) ?? false
    }

    private func require(
        _ command: [String], environment: [String: String] = [:], sourceLocation: SourceLocation
    ) throws {
        let result = try Program.start(command, environment: environment).wait()
        try #require(
            result.status == 0, Comment(rawValue: result.description),
            sourceLocation: sourceLocation)
    }
}
