import Control
import Engine
import Foundation
import ProviderSupport
import Providers
import SystemCalls

/// Checks before a mount.
enum MountChecks {
    /// - Returns: The mount point without symbolic links.
    /// - Throws: `CommandFailure` unless it is an empty directory that is not a mount yet.
    static func mountPoint(_ path: String, in table: MountTable) throws -> String {
        let what = "mount on \(path)"
        guard let resolved = Path.resolved(path) else { throw unreachable(path, what, .last) }
        if let mount = table.mount(at: resolved) {
            throw occupied(path, what, by: mount)
        }
        if let mount = table.mount(above: resolved), mount.isApus {
            throw CommandFailure(
                what: what, why: "it lies in the mount \(mount.mountPoint)",
                remedy: "choose a folder outside of it")
        }
        try requireEmpty(resolved, what)
        return resolved
    }

    /// Checks that source, mount point and state directory are separate, before anything is written: a
    /// source that contains its own mount or state would have no end.
    ///
    /// - Throws: `CommandFailure` if one of them contains another, symbolic links resolved.
    static func separate(
        source: Source, mountPoint: String, stateDirectory: String, in table: MountTable
    ) throws {
        let what = "mount \(source) on \(mountPoint)"
        let isApart = { (inner: String, outer: String) in
            !DirectoryIdentity.contains(outer, inner, in: table)
        }
        guard isApart(stateDirectory, mountPoint), isApart(mountPoint, stateDirectory) else {
            throw CommandFailure(
                what: what,
                why: "the mount point and the state directory \(stateDirectory) overlap",
                remedy: "choose a state directory elsewhere with --state-dir")
        }
        guard let folder = source.localFolder else { return }
        guard isApart(mountPoint, folder), isApart(folder, mountPoint) else {
            throw CommandFailure(
                what: what, why: "the source and the mount point overlap",
                remedy: "choose a mount point outside of \(folder)")
        }
        guard isApart(stateDirectory, folder), isApart(folder, stateDirectory) else {
            throw CommandFailure(
                what: what, why: "the source and the state directory \(stateDirectory) overlap",
                remedy: "choose a state directory outside of \(folder) with --state-dir")
        }
    }

    /// - Returns: nil without an address.
    /// - Throws: `CommandFailure` for a source whose stores send no notifications, and if there is no
    ///   secret that only its owner can read.
    static func webhook(
        _ address: WebhookAddress?, tokenFile: String?, source: Source
    ) throws -> MountOptions.Webhook? {
        guard let address else {
            guard let tokenFile else { return nil }
            throw CommandFailure(
                what: "use the secret in \(tokenFile)",
                why: "there is no address for notifications",
                remedy: "give it with --webhook HOST:PORT")
        }
        let what = "take notifications at \(address)"
        guard source.takesNotifications else {
            throw CommandFailure(
                what: what, why: "only the stores of s3: sources send notifications",
                remedy: "leave --webhook out")
        }
        guard let tokenFile = tokenFile.map(Path.absolute) else {
            throw CommandFailure(
                what: what, why: "there is no secret by which they are known to be genuine",
                remedy: "make one with 'openssl rand -hex 32 >FILE; chmod 600 FILE', and give "
                    + "--webhook-token-file FILE")
        }
        let text: String?
        do {
            text = try PrivateFile.text(at: tokenFile)
        } catch {
            throw CommandFailure(what: what, why: error.problem, remedy: error.remedy)
        }
        guard let text, let token = WebhookToken(text) else {
            throw CommandFailure(
                what: what,
                why: text == nil
                    ? "there is no \(tokenFile)"
                    : "\(tokenFile) holds no secret of at least \(WebhookToken.bytesMin) characters "
                        + "without blanks",
                remedy: "make one with 'openssl rand -hex 32 >FILE; chmod 600 FILE'")
        }
        return MountOptions.Webhook(address: address, tokenFile: tokenFile, token: token)
    }

    /// Free bytes that a database needs to start, and to record that a disk is full.
    private static let roomBytesMin: UInt64 = 16 * 1024 * 1024

    /// - Throws: `CommandFailure` if the state directory's disk is full.
    static func room(in stateDirectory: String) throws {
        var space = statvfs()
        guard statvfs(stateDirectory, &space) == 0 else { return }
        let available = UInt64(space.f_bavail) * UInt64(space.f_frsize)
        guard available < roomBytesMin else { return }
        throw CommandFailure(
            what: "use the state directory \(stateDirectory)",
            why: "its disk has only \(HumanSize.format(available)) left",
            remedy: "free some space, or choose a folder on another disk with --state-dir")
    }

    /// - Parameter boot: The current boot of this machine.
    /// - Throws: `CommandFailure` if there are contents but the database that assigns them to files is
    ///   missing or blank: they would be treated as leftovers.
    static func database(in stateDirectory: String, boot: String) throws {
        let contents = "\(stateDirectory)/content"
        guard holdsFiles(contents),
            let blank = try StateDatabase.blank(
                ofFileAt: "\(stateDirectory)/\(StateDatabase.name)", boot: boot),
            // An unlinked file that was opened again may leave an empty one behind.
            blank != .ofFiles || holdsFiles(contents, bytesMin: 1)
        else { return }
        throw CommandFailure(
            what: "use the state directory \(stateDirectory)",
            why: "its database \(StateDatabase.name) \(blank.rawValue), "
                + "and contents of files are there",
            remedy: "put the database back, or run `apus check \(stateDirectory)`, which keeps them"
        )
    }

    /// - Returns: The file's absolute path.
    /// - Throws: `CommandFailure` unless it can be read.
    static func readable(_ file: String) throws -> String {
        let path = Path.absolute(file)
        guard access(path, R_OK) == 0 else {
            throw CommandFailure(what: "read \(path)", why: "\(SystemError.last)".lowercased())
        }
        return path
    }

    /// - Parameter bytesMin: The size from which a file counts.
    private static func holdsFiles(_ directory: String, bytesMin: UInt64 = 0) -> Bool {
        let paths = FileManager.default.enumerator(atPath: directory)
        while paths?.nextObject() != nil {
            guard let file = paths?.fileAttributes,
                file[.type] as? FileAttributeType == .typeRegular
            else { continue }
            if file[.size] as? UInt64 ?? 0 >= bytesMin { return true }
        }
        return false
    }

    private static func occupied(
        _ path: String, _ what: String, by mount: MountTable.Entry
    ) -> CommandFailure {
        guard mount.isApus else {
            return CommandFailure(
                what: what, why: "\(mount.fileSystem) is mounted there",
                remedy: "choose another folder")
        }
        return CommandFailure(
            what: what,
            why: MountLocator.isDead(mount.mountPoint)
                ? "a mount whose daemon is dead is there" : "apus is mounted there",
            remedy: "run `apus unmount \(path)` first")
    }

    private static func unreachable(
        _ path: String, _ what: String, _ error: SystemError
    ) -> CommandFailure {
        switch error.code {
        case ENOENT:
            CommandFailure(
                what: what, why: "there is no such folder", remedy: "make it: mkdir -p \(path)")
        case ENOTCONN:
            CommandFailure(
                what: what, why: "a mount whose daemon is dead is there",
                remedy: "run `apus unmount \(path)` first")
        default: CommandFailure(what: what, why: "\(error)".lowercased())
        }
    }

    private static func requireEmpty(_ path: String, _ what: String) throws {
        guard let directory = opendir(path) else {
            let error = SystemError.last
            throw CommandFailure(
                what: what,
                why: error.code == ENOTDIR ? "it is not a folder" : "\(error)".lowercased(),
                remedy: "choose an empty folder of your own")
        }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name == "." || name == ".." else {
                throw CommandFailure(
                    what: what, why: "it is not empty",
                    remedy: "choose an empty folder, or move its contents away")
            }
        }
    }
}
