import Engine
import Glibc

/// Where one mount keeps its state, held by this process alone.
///
/// The lock lies on the file `lock` and belongs to the open descriptor (`flock`), so the kernel
/// releases it when the process ends, however that comes about. The file holds two lines for
/// messages, the process id and the mount point; once the lock is free they tell of the last mount.
/// While the directory is checked, `check` stands after the process id. Who takes a directory waits for
/// a holder that was killed: its lock goes with the last of its threads, a while after the first.
package final class StateDirectory: Sendable {
    /// Who holds a state directory.
    package struct Holder: Hashable, Sendable {
        package let processID: Int32
        package let mountPoint: String
        /// Whether it checks the directory, which was last mounted there.
        package var isChecking = false
        /// Whether it was killed, and still has files open.
        package var isEnding = false
    }

    package let path: String
    private let lock: Descriptor

    /// Makes the directory, mode 0700, with those above it where they are missing, and takes it
    /// until the last reference goes.
    ///
    /// - Parameters:
    ///   - path: A link to a directory will do.
    ///   - mountPoint: For the message that a second taker shows.
    /// - Throws: ``StateDirectoryError`` if another process holds it, it belongs to somebody else,
    ///   lets others in or is used for something else, or the system refuses. Nothing is written then.
    package init(path: String, mountPoint: String) throws(StateDirectoryError) {
        self.path = path
        let holder = Holder(processID: getpid(), mountPoint: mountPoint)
        do {
            try Self.reporting { () throws(SystemError) in try Self.makeDirectories(path) }
            lock = try Self.open(path)
            try Self.take(lock, for: holder)
        } catch {
            throw StateDirectoryError(error, path: path)
        }
    }

    /// Takes a directory that is there, to look through it; where it was mounted stays on record.
    ///
    /// - Throws: As ``init(path:mountPoint:)`` does.
    package init(checking path: String) throws(StateDirectoryError) {
        self.path = path
        do {
            lock = try Self.open(path)
            let mountPoint = Holder(readFrom: lock)?.mountPoint ?? ""
            try Self.take(
                lock,
                for: Holder(processID: getpid(), mountPoint: mountPoint, isChecking: true))
        } catch {
            throw StateDirectoryError(error, path: path)
        }
    }

    /// Where a state directory is mounted, or was last; nil where that is not known.
    package static func lastMountPoint(of path: String) -> String? {
        guard let directory = try? Descriptor(directory: path),
            let lock = try? Descriptor(opening: "lock", in: directory, flags: O_RDONLY)
        else { return nil }
        return Holder(readFrom: lock).flatMap { $0.mountPoint.isEmpty ? nil : $0.mountPoint }
    }

    /// Where a mount keeps its state unless the user says otherwise: `/var/lib/apus/NAME` for root,
    /// else `apus/NAME` in `$XDG_STATE_HOME` or `~/.local/state`, as the XDG Base Directory
    /// Specification has it.
    ///
    /// - Parameters:
    ///   - name: One component of a path.
    ///   - environment: The process's; the specification has relative paths in it ignored.
    /// - Throws: ``StateDirectoryError`` of the kinds `.badName` and `.homeless`.
    package static func defaultPath(
        name: String, environment: [String: String], isRoot: Bool = geteuid() == 0
    ) throws(StateDirectoryError) -> String {
        guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 255,
            !name.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == 0 })
        else { throw StateDirectoryError(.badName, path: name) }

        func absolute(_ variable: String) -> String? {
            environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        if isRoot { return "/var/lib/apus/\(name)" }
        if let state = absolute("XDG_STATE_HOME") { return "\(state)/apus/\(name)" }
        if let home = absolute("HOME") { return "\(home)/.local/state/apus/\(name)" }
        throw StateDirectoryError(.homeless, path: name)
    }
}

// MARK: - Steps

extension StateDirectory {
    /// - Returns: The lock file of the directory, which is there now and ours alone.
    private static func open(_ path: String) throws(StateDirectoryError.Kind) -> Descriptor {
        let directory = try reporting { () throws(SystemError) in
            try Descriptor(directory: path)
        }
        let status = try reporting(directory.status)
        // Asked of the open directory, so nobody can put another one in its place meanwhile.
        if status.st_uid != geteuid() { throw .foreign(owner: status.st_uid) }
        let names = try reporting { () throws(SystemError) in
            try DirectoryWalk(root: directory, hidden: nil).names()
        }
        if !names.contains(StateDatabase.name),
            let other = names.filter({ !StateFiles.isOurs($0) }).min()
        {
            throw .occupied(by: other)
        }
        let mode = UInt16(status.st_mode & 0o7777)
        if mode & 0o077 != 0 { throw .exposed(mode: mode) }
        return try reporting { () throws(SystemError) in
            try Descriptor(opening: "lock", in: directory, flags: O_RDWR | O_CREAT, mode: 0o600)
        }
    }

    /// Makes a directory and those above it. POSIX: `mkdir -p -m 0700`.
    private static func makeDirectories(_ path: String) throws(SystemError) {
        var made = path.hasPrefix("/") ? "/" : ""
        for name in path.split(separator: "/") {
            made += name
            do {
                _ = try retryingInterrupts { mkdir(made, 0o700) }
            } catch {
                // On a read-only system, say, what exists need not be made.
                if access(made, F_OK) != 0 { throw error }
            }
            made += "/"
        }
    }

    /// How long a killed process may take to let go: one of its threads may have much to write to a
    /// slow disk.
    private static let endingMillisecondsMax: Int32 = 30_000

    private static func take(
        _ lock: Descriptor, for holder: Holder
    ) throws(StateDirectoryError.Kind) {
        if try !tryLock(lock) {
            guard var other = Holder(readFrom: lock) else { throw .held(by: nil) }
            if let process = EndingProcess(other.processID) {
                other.isEnding = !process.isGone(withinMilliseconds: endingMillisecondsMax)
                if other.isEnding { throw .held(by: other) }
            }
            guard try tryLock(lock) else { throw .held(by: Holder(readFrom: lock)) }
        }
        try reporting { () throws(SystemError) in try holder.write(to: lock) }
    }

    /// - Returns: Whether the lock was free; it is ours then.
    private static func tryLock(_ lock: Descriptor) throws(StateDirectoryError.Kind) -> Bool {
        do {
            _ = try retryingInterrupts { flock(lock.rawValue, LOCK_EX | LOCK_NB) }
            return true
        } catch {
            if error.code == EWOULDBLOCK { return false }
            throw .system(error.code)
        }
    }

    private static func reporting<Result>(
        _ step: () throws(SystemError) -> Result
    ) throws(StateDirectoryError.Kind) -> Result {
        do {
            return try step()
        } catch {
            throw .system(error.code)
        }
    }
}

extension StateDirectory.Holder {
    /// Longer than any path that can be a mount point.
    private static let textBytesMax = 8_192

    /// - Returns: nil while the holder has not written down who it is.
    fileprivate init?(readFrom lock: Descriptor) {
        let text = withUnsafeTemporaryAllocation(byteCount: Self.textBytesMax, alignment: 1) {
            // The lock is held whatever can be read of its holder.
            let count = (try? PosixIO.read(lock.rawValue, into: $0, at: 0)) ?? 0
            return String(decoding: $0.prefix(count), as: UTF8.self)
        }
        let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ")
        guard lines.count == 2, let processID = words.first.flatMap({ Int32($0) }),
            lines[1].hasSuffix("\n")
        else { return nil }
        self.init(
            processID: processID, mountPoint: String(lines[1].dropLast()),
            isChecking: words.dropFirst() == ["check"])
    }

    fileprivate func write(to lock: Descriptor) throws(SystemError) {
        let text = Array("\(processID)\(isChecking ? " check" : "")\n\(mountPoint)\n".utf8)
        try text.withUnsafeBufferPointer { (bytes) throws(SystemError) in
            try PosixIO.write(lock.rawValue, UnsafeRawBufferPointer(bytes), at: 0)
        }
        // Only now: on a full disk the block that it has may be the only one to be had.
        _ = try retryingInterrupts { ftruncate(lock.rawValue, off_t(text.count)) }
    }
}
