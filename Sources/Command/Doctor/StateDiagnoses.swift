import Control
import Engine
import Foundation
import Host
import ProviderSupport
import SystemCalls

/// The user's files that mounts need: the place of states, and files with credentials.
enum StateDiagnoses {
    static func all(in table: MountTable) -> [Diagnosis] {
        disk(in: table) + credentials
    }

    private static func disk(in table: MountTable) -> [Diagnosis] {
        let subject = "state directory"
        do {
            let path = try StateDirectory.defaultPath(
                name: "state", environment: ProcessInfo.processInfo.environment)
            let parent = String(path.dropLast("/state".count))
            let disk = try StateDisk(of: parent)
            return [room(on: disk, for: parent), reflinks(on: disk, in: table)]
        } catch {
            let problem = CommandFailure(error)?.problem
            return [.bad(subject, problem?.why ?? "\(error)", remedy: problem?.remedy)]
        }
    }

    private static func room(on disk: StateDisk, for parent: String) -> Diagnosis {
        let subject = "state directory"
        let available = disk.space.availableBytes
        let finding = "\(parent), with \(HumanSize.format(available)) of free space"
        guard access(disk.directory, W_OK) == 0 else {
            return .bad(
                subject, "\(disk.directory) cannot be written to",
                remedy: "choose another place with --state-dir")
        }
        let reserve = KeepFree.standard.bytes(of: disk.space)
        guard available > reserve else {
            return .bad(
                subject, finding + ": there is none for local copies",
                remedy: "free some, give --keep-free less than \(HumanSize.format(reserve)), or "
                    + "choose another disk with --state-dir")
        }
        return .good(subject, finding)
    }

    private static func reflinks(on disk: StateDisk, in table: MountTable) -> Diagnosis {
        let subject = "its file system"
        let name = table.mount(above: disk.directory)?.fileSystem ?? "unknown"
        switch disk.sharesBytes {
        case true?: return .good(subject, "\(name), in which files can share bytes")
        case false?:
            return .note(
                subject,
                "\(name), without reflinks: a large file that is written to during its upload is copied",
                remedy: "XFS and btrfs have them")
        case nil: return .note(subject, "\(name); it is not known whether it has reflinks")
        }
    }

    private static var credentials: [Diagnosis] {
        let search = CredentialSearch()
        let configuration = diagnosis(of: search.configurationFile) { (path) throws(SourceError) in
            try search.holdsCredentials(configuration: path)
        }
        let netrc = diagnosis(of: search.netrcFile) { (path) throws(SourceError) in
            try PrivateFile.text(at: path) != nil
        }
        return [configuration, netrc].compactMap(\.self) + others
    }

    /// Files of other programs, which do not insist on their permissions.
    private static var others: [Diagnosis] {
        let environment = ProcessInfo.processInfo.environment
        let home = environment["HOME"] ?? ""
        let configuration = environment["XDG_CONFIG_HOME"] ?? "\(home)/.config"
        let paths = [
            environment["AWS_SHARED_CREDENTIALS_FILE"] ?? "\(home)/.aws/credentials",
            environment["RCLONE_CONFIG"] ?? "\(configuration)/rclone/rclone.conf",
        ]
        return paths.compactMap { path in
            guard let status = FileStatus(at: path) else { return nil }
            guard status.mode & 0o077 != 0 else {
                return .good("credentials", "only this user can read \(path)")
            }
            return .bad(
                "credentials", "other users may open \(path)",
                remedy: "restrict it with `chmod 600 \(path)`")
        }
    }

    /// - Parameter holdsSecrets: Throws if it does, and others may read them.
    private static func diagnosis(
        of path: String?, _ holdsSecrets: (_ path: String) throws(SourceError) -> Bool
    ) -> Diagnosis? {
        guard let path else { return nil }
        do throws(SourceError) {
            guard try holdsSecrets(path) else { return nil }
            return .good("credentials", "only this user can read \(path)")
        } catch {
            return .bad("credentials", error.problem, remedy: error.remedy)
        }
    }
}
