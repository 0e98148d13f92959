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
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let descriptor: Int32
        do {
            descriptor = try retryingInterrupts {
                openat(root.rawValue, directory.isEmpty ? "." : directory, flags)
            }
        } catch {
            // A file in its place means that the directory is missing.
            if error.code == ENOENT || error.code == ENOTDIR { return [] }
            throw error
        }
        guard let stream = fdopendir(descriptor) else {
            let error = SystemError.last
            close(descriptor)
            throw error
        }
        defer { closedir(stream) }  // closes the descriptor too

        var entries: [(name: String, kind: Kind)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw .last }
                return entries
            }
            guard let name = Self.name(of: entry), name != ".", name != ".." else { continue }
            entries.append((name, try kind(of: entry, named: name, in: descriptor)))
        }
    }

    private static func name(of entry: UnsafeMutablePointer<dirent>) -> String? {
        // The declared length of the array means nothing: use the address of its first byte.
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else {
            preconditionFailure("d_name is a stored field")
        }
        let start = UnsafeRawPointer(entry).advanced(by: offset)
        return String(validatingCString: start.assumingMemoryBound(to: CChar.self))
    }

    private func kind(
        of entry: UnsafeMutablePointer<dirent>, named name: String, in directory: Int32
    ) throws(SystemError) -> Kind {
        switch Int(entry.pointee.d_type) {
        case Int(DT_REG): return .file
        case Int(DT_DIR): return .directory
        case Int(DT_UNKNOWN): break
        default: return .other
        }
        // Some file systems only tell by `stat`.
        var status = stat()
        if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
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
