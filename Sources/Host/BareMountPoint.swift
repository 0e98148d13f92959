import CHost
import Glibc

/// The directory beneath a mount. Whoever writes into it while the mount is away, after a crash or
/// somebody's `umount`, would write to the wrong place and lose sight of it with the next mount: so
/// it takes nothing while it is protected.
///
/// Its mode loses the right to write, and for root, whom that does not bind, the directory becomes
/// immutable where the file system can (`chattr +i`). The mode that it had is kept in an extended
/// attribute of the directory itself, so that any later process can give it back.
package struct BareMountPoint: Sendable {
    private let directory: Descriptor

    private static let attribute = "user.apus.mountpoint"
    private static let stateAttribute = "user.apus.mountstate"

    /// Opens the directory; what is mounted over it later changes nothing here.
    ///
    /// - Returns: nil where it cannot be opened, as where a dead mount is in its place.
    package init?(_ path: String) {
        guard let directory = try? Descriptor(directory: path) else { return nil }
        self.directory = directory
    }

    package var isProtected: Bool { keptMode != nil }

    /// The state directory of the mount, noted by ``protect(notingState:)``.
    package var stateDirectory: String? {
        value(of: Self.stateAttribute).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Makes the directory refuse new names. Where that is not possible it stays as it is.
    ///
    /// - Parameter state: The mount's state directory, for whoever finds the mount dead.
    /// - Returns: Whether it is protected now.
    @discardableResult
    package func protect(notingState state: String) -> Bool {
        guard !isProtected, let status = try? directory.status() else { return isProtected }
        let mode = status.st_mode & 0o7777
        let text = Array(String(mode, radix: 8).utf8)
        guard fsetxattr(directory.rawValue, Self.attribute, text, text.count, 0) == 0 else {
            return false
        }
        guard fchmod(directory.rawValue, mode & ~0o222) == 0 else {
            fremovexattr(directory.rawValue, Self.attribute)
            return false
        }
        // Where it has no room, the usual place of the state can still be looked at.
        fsetxattr(directory.rawValue, Self.stateAttribute, state, state.utf8.count, 0)
        setImmutable(true)
        return true
    }

    /// Gives the directory back as it was before ``protect(notingState:)``, whichever process called
    /// that.
    package func release() {
        guard let mode = keptMode else { return }
        setImmutable(false)
        fchmod(directory.rawValue, mode)
        fremovexattr(directory.rawValue, Self.stateAttribute)
        fremovexattr(directory.rawValue, Self.attribute)
    }

    private var keptMode: mode_t? {
        value(of: Self.attribute).flatMap { mode_t(String(decoding: $0, as: UTF8.self), radix: 8) }
    }

    private func value(of attribute: String) -> ArraySlice<UInt8>? {
        var value = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = fgetxattr(directory.rawValue, attribute, &value, value.count)
        return count > 0 ? value[..<count] : nil
    }

    private func setImmutable(_ isImmutable: Bool) {
        var flags: Int32 = 0
        guard geteuid() == 0, apus_get_inode_flags(directory.rawValue, &flags) == 0 else { return }
        let wanted = isImmutable ? flags | apus_immutable_flag : flags & ~apus_immutable_flag
        // Not every file system has such a flag; the mode then is all there is.
        if wanted != flags { _ = apus_set_inode_flags(directory.rawValue, wanted) }
    }
}
