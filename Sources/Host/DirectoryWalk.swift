import Glibc
import SystemCalls

/// Finds the regular files of a tree. Skips everything that we never make: links, sockets, names
/// that are not UTF-8.
struct DirectoryWalk {
    let root: Descriptor
    /// A directory in the root that is skipped.
    let hidden: String?

    /// - Parameter directory: Relative to the root; empty for the root itself.
    /// - Returns: Paths relative to the root; none if the directory is missing.
    func files(below directory: String) throws(SystemError) -> [String] {
        var files: [String] = []
        var pending = [directory]
        while let next = pending.popLast() {
            for entry in try entries(of: next) {
                let path = next.isEmpty ? entry.name : "\(next)/\(entry.name)"
                switch entry.kind {
                case .file: files.append(path)
                case .directory where path != hidden: pending.append(path)
                case .directory, .other: break
                }
            }
        }
        return files
    }

    /// All names in the root that are UTF-8, in no order.
    func names() throws(SystemError) -> [String] {
        try entries(of: "").map(\.name)
    }

    private enum Kind { case file, directory, other }

    private func entries(of directory: String) throws(SystemError) -> [(name: String, kind: Kind)] {
        let opened: Descriptor
        do {
            opened = try Descriptor(
                opening: directory.isEmpty ? "." : directory, in: root,
                flags: O_RDONLY | O_DIRECTORY)
        } catch {
            // A file in its place means that the directory is missing.
            if error.code == ENOENT || error.code == ENOTDIR { return [] }
            throw error
        }
        let stream = try DirectoryStream(opened)
        var entries: [(name: String, kind: Kind)] = []
        while let entry = try stream.next() {
            guard let name = String(validating: entry.name, as: UTF8.self), name != ".",
                name != ".."
            else { continue }
            entries.append((name, try kind(entry.type, of: name, in: opened)))
        }
        return entries
    }

    private func kind(
        _ type: UInt8, of name: String, in directory: Descriptor
    ) throws(SystemError) -> Kind {
        switch Int(type) {
        case Int(DT_REG): return .file
        case Int(DT_DIR): return .directory
        case Int(DT_UNKNOWN): break
        default: return .other
        }
        // Some file systems only tell by `stat`.
        var status = stat()
        if fstatat(directory.rawValue, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
            let error = SystemError.last
            if error.code == ENOENT { return .other }
            throw error
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .directory
        default: return .other
        }
    }
}
