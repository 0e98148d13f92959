import CLinux
import Glibc
import SystemCalls

/// The directory beneath a mount.
///
/// After a crash of the daemon, a program that writes into it would write to the wrong place, out of
/// sight as soon as the folder is mounted again. While it is protected, the directory therefore
/// accepts no new names: its mode loses write permission, and for root, which no mode stops, it
/// becomes immutable if the file system supports that (`chattr +i`).
///
/// A mark, an extended attribute of the directory, keeps the original mode and the state directory
/// of the mount. Any later process can restore the one and find the other.
package struct BareMountPoint: Sendable {
    private struct Mark {
        let mode: mode_t
        let stateDirectory: String

        var text: String { "\(String(mode, radix: 8)) \(stateDirectory)" }
    }

    private let directory: Descriptor

    private static let attribute = "user.apus.mountpoint"

    /// Opens the directory; a later mount over it does not change which directory this is.
    ///
    /// - Returns: nil if it cannot be opened, as when a dead mount covers it.
    package init?(_ path: String) {
        guard let directory = try? Descriptor(directory: path) else { return nil }
        self.directory = directory
    }

    package var isProtected: Bool { mark != nil }

    /// The state directory of the mount that protected this directory.
    package var stateDirectory: String? { mark?.stateDirectory }

    /// Makes the directory refuse new names, or leaves it as it is if that is not possible.
    ///
    /// The mark comes first: an extended attribute takes the write permission that goes next.
    ///
    /// - Parameter stateDirectory: The mount's, kept in the mark.
    /// - Returns: Whether the directory is protected and marked with `stateDirectory`.
    package func protect(stateDirectory: String) -> Bool {
        guard let status = try? directory.status() else { return false }
        let mode = mark?.mode ?? status.st_mode & 0o7777
        let text = Mark(mode: mode, stateDirectory: stateDirectory).text
        guard fsetxattr(directory.rawValue, Self.attribute, text, text.utf8.count, 0) == 0 else {
            return false
        }
        guard fchmod(directory.rawValue, mode & ~0o222) == 0 else {
            fremovexattr(directory.rawValue, Self.attribute)
            return false
        }
        setImmutable(true)
        return true
    }

    /// Restores the directory to its condition before ``protect(stateDirectory:)``, whichever process
    /// called that.
    package func release() {
        guard let mark else { return }
        setImmutable(false)
        fchmod(directory.rawValue, mark.mode)
        fremovexattr(directory.rawValue, Self.attribute)
    }

    private var mark: Mark? {
        var value = [UInt8](repeating: 0, count: Int(PATH_MAX) + 8)
        let count = fgetxattr(directory.rawValue, Self.attribute, &value, value.count)
        guard count > 0 else { return nil }
        let words = String(decoding: value[..<count], as: UTF8.self)
            .split(separator: " ", maxSplits: 1)
        guard words.count == 2, let mode = mode_t(words[0], radix: 8) else { return nil }
        return Mark(mode: mode, stateDirectory: String(words[1]))
    }

    private func setImmutable(_ isImmutable: Bool) {
        var flags: Int32 = 0
        guard geteuid() == 0, apus_get_inode_flags(directory.rawValue, &flags) == 0 else { return }
        let wanted = isImmutable ? flags | apus_immutable_flag : flags & ~apus_immutable_flag
        // Some file systems have no such flag; the mode alone protects the directory there.
        if wanted != flags { _ = apus_set_inode_flags(directory.rawValue, wanted) }
    }
}
