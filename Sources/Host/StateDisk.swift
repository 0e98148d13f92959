import CLinux
package import Engine
import Glibc
package import SystemCalls

/// The disk on which a state directory is, or would be made.
package struct StateDisk {
    /// The nearest directory above that exists.
    package let directory: String
    package let space: StorageSpace

    /// - Parameter path: Absolute; it need not exist.
    package init(of path: String) throws(SystemError) {
        var existing = path[...]
        while access(String(existing), F_OK) != 0, let end = existing.lastIndex(of: "/"),
            end > existing.startIndex
        {
            existing = existing[..<end]
        }
        directory = access(String(existing), F_OK) == 0 ? String(existing) : "/"
        space = try Descriptor(directory: directory).space()
    }

    /// Whether files can share bytes, found out by trying; nil without permission to write.
    package var sharesBytes: Bool? {
        guard let source = draft(), let target = draft(),
            (try? PosixIO.write(source.rawValue, [0])) != nil
        else { return nil }
        return apus_share_bytes(target.rawValue, source.rawValue) == 0
    }

    /// An open file without a name.
    private func draft() -> Descriptor? {
        // mkstemp(3) replaces the six letters at the end.
        var path = Array("\(directory)/.apus-doctor-XXXXXX".utf8CString)
        let number = mkstemp(&path)
        guard number >= 0 else { return nil }
        unlink(path)
        return Descriptor(adopting: number)
    }
}
