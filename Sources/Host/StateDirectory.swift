import CLinux
import Engine
import Glibc
import Synchronization
import SystemCalls

/// The directory with the state of one mount, held exclusively by this process.
///
/// The lock (`flock`) is on the file `lock` and belongs to the open descriptor, so the kernel releases
/// it when the process ends in any way. The file holds two lines for messages, the process id and the
/// mount point; once the lock is free, they describe the last mount. During a check, `check` follows
/// the process id. The initialisers wait for a holder that was killed: its lock lasts as long as the
/// last of its threads, which may end well after the first.
package final class StateDirectory: Sendable {
    /// The process that holds a state directory.
    package struct Holder: Hashable, Sendable {
        package let processID: Int32
        package let mountPoint: String
        /// Whether it checks the directory; the mount point is then that of the last mount.
        package var isChecking = false
        /// Whether it was killed but still has files open.
        package var isEnding = false
    }

    package let path: String
    let lock: Descriptor
    /// Whether this object made the directory.
    package let isMade: Bool
    /// Whether the state is one of a start that has not succeeded yet.
    let isNew: Mutex<Bool>

    /// Makes the directory, mode 0700, and any missing parents, and holds it until the last reference
    /// is released.
    ///
    /// - Parameters:
    ///   - path: May be a symbolic link to a directory.
    ///   - mountPoint: Appears in the error of another process that wants the directory.
    /// - Throws: ``StateDirectoryError`` if another process holds it, it belongs to another user, is
    ///   accessible to other users or holds other files, or if a system call fails. Nothing is written
    ///   then.
    package init(path: String, mountPoint: String) throws(StateDirectoryError) {
        self.path = path
        let holder = Holder(processID: getpid(), mountPoint: mountPoint)
        do {
            isMade = try Self.reporting(Self.makeDirectories(path))
            let (lock, isNew) = try Self.open(path)
            self.lock = lock
            self.isNew = Mutex(isNew)
            try Self.take(lock, of: path, for: holder)
        } catch {
            throw StateDirectoryError(error, path: path)
        }
    }

    /// Holds an existing directory during a check; the mount point in `lock` stays.
    ///
    /// - Throws: As ``init(path:mountPoint:)`` does.
    package init(checking path: String) throws(StateDirectoryError) {
        self.path = path
        isMade = false
        do {
            let (lock, isNew) = try Self.open(path)
            self.lock = lock
            self.isNew = Mutex(isNew)
            let mountPoint = Holder(readFrom: lock)?.mountPoint ?? ""
            try Self.take(
                lock, of: path,
                for: Holder(processID: getpid(), mountPoint: mountPoint, isChecking: true))
        } catch {
            throw StateDirectoryError(error, path: path)
        }
    }

    /// Returns the current or last mount point of a state directory, if known.
    package static func lastMountPoint(of path: String) -> String? {
        guard let directory = try? Descriptor(directory: path),
            let lock = try? Descriptor(opening: "lock", in: directory, flags: O_RDONLY)
        else { return nil }
        return Holder(readFrom: lock).flatMap { $0.mountPoint.isEmpty ? nil : $0.mountPoint }
    }

    /// Returns the default state directory: `/var/lib/apus/NAME` for root, else `apus/NAME` in
    /// `$XDG_STATE_HOME` or `~/.local/state` (XDG Base Directory Specification).
    ///
    /// - Parameters:
    ///   - name: One component of a path.
    ///   - environment: Of this process; relative paths in it are ignored, as specified.
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

    /// Returns the state directory that a mount has if its user has neither an unusual environment nor
    /// chosen another: unlike ``defaultPath(name:environment:isRoot:)``, it is the same for every
    /// process.
    ///
    /// - Returns: nil for a user without a home directory.
    package static func conventionalPath(name: String, userID: UInt32) -> String? {
        if userID == 0 { return "/var/lib/apus/\(name)" }
        var user = passwd()
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            var found: UnsafeMutablePointer<passwd>?
            guard let bytes = buffer.baseAddress,
                getpwuid_r(userID, &user, bytes, buffer.count, &found) == 0,
                found != nil, let home = user.pw_dir.map({ String(cString: $0) }),
                home.hasPrefix("/")
            else { return nil }
            return "\(home)/.local/state/apus/\(name)"
        }
    }
}

// MARK: - Steps

extension StateDirectory {
    /// The files that a start makes before it is connected with the remote.
    private static let firstFiles: Set = ["lock", "log", PosixBallast.name]

    /// - Returns: The lock file of the directory, which exists and belongs to this user only; and
    ///   whether the directory holds no state, but at most what a start makes before its database.
    private static func open(
        _ path: String
    ) throws(StateDirectoryError.Kind) -> (lock: Descriptor, isNew: Bool) {
        let directory = try reporting(Descriptor(directory: path))
        let status = try reporting(directory.status())
        // Of the open directory, which no other process can replace meanwhile.
        if status.st_uid != geteuid() { throw .foreign(owner: status.st_uid) }
        let names = Set(try reporting(DirectoryWalk(root: directory, hidden: nil).names()))
        if !names.contains(StateDatabase.name),
            let other = names.filter({ !StateFiles.isOurs($0) }).min()
        {
            throw .occupied(by: other)
        }
        let mode = UInt16(status.st_mode & 0o7777)
        if mode & 0o077 != 0 { throw .exposed(mode: mode) }
        let lock = try reporting(
            Descriptor(opening: "lock", in: directory, flags: O_RDWR | O_CREAT, mode: 0o600))
        return (lock, names.isSubset(of: firstFiles))
    }

    /// Makes a directory and its missing parents. POSIX: `mkdir -p -m 0700`.
    ///
    /// - Returns: Whether the directory itself was missing.
    private static func makeDirectories(_ path: String) throws(SystemError) -> Bool {
        var made = path.hasPrefix("/") ? "/" : ""
        var isMade = false
        for name in path.split(separator: "/") {
            made += name
            do {
                _ = try retryingInterrupts { mkdir(made, 0o700) }
                isMade = true
            } catch {
                // An existing directory may yield another error, as on a read-only file system.
                if access(made, F_OK) != 0 { throw error }
                isMade = false
            }
            made += "/"
        }
        return isMade
    }

    /// How long a killed process may take to release the lock: one of its threads may have much to
    /// write to a slow disk.
    private static let endingMillisecondsMax: Int32 = 30_000

    private static func take(
        _ lock: Descriptor, of path: String, for holder: Holder
    ) throws(StateDirectoryError.Kind) {
        if try !tryLock(lock) {
            guard var other = Holder(readFrom: lock) else { throw .held(by: nil) }
            if let process = EndingProcess(other.processID) {
                other.isEnding = !process.isGone(withinMilliseconds: endingMillisecondsMax)
                if other.isEnding { throw .held(by: other) }
            }
            guard try tryLock(lock) else { throw .held(by: Holder(readFrom: lock)) }
        }
        // The holder before may have removed the directory.
        guard try reporting(lock.isFile(at: "\(path)/lock")) else { throw .held(by: nil) }
        try reporting(holder.write(to: lock))
    }

    /// - Returns: Whether the lock was free and is now held.
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
        _ step: @autoclosure () throws(SystemError) -> Result
    ) throws(StateDirectoryError.Kind) -> Result {
        do {
            return try step()
        } catch {
            throw .system(error.code)
        }
    }
}

extension StateDirectory.Holder {
    /// Longer than any mount point.
    private static let textBytesMax = 8_192

    /// - Returns: nil until the holder has written its lines.
    init?(readFrom lock: Descriptor) {
        // The lock is held even if its holder cannot be identified.
        let bytes = (try? PosixIO.read(lock.rawValue, count: Self.textBytesMax, at: 0)) ?? []
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
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
        try PosixIO.write(lock.rawValue, text, at: 0)
        // After the write: on a full disk, the block that the file has may be the last one.
        _ = try retryingInterrupts { ftruncate(lock.rawValue, off_t(text.count)) }
    }
}
