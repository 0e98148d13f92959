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
            let found = try contents(of: next)
            files += found.files
            pending += found.directories
        }
        return files
    }

    /// - Parameter directory: Relative to the root; empty for the root itself.
    /// - Returns: Paths relative to the root; none if the directory is missing.
    func contents(
        of directory: String
    ) throws(SystemError) -> (files: [String], directories: [String]) {
        var found: (files: [String], directories: [String]) = ([], [])
        for entry in try entries(of: directory) {
            let path = directory.isEmpty ? entry.name : "\(directory)/\(entry.name)"
            switch entry.kind {
            case .file: found.files.append(path)
            case .directory where path != hidden: found.directories.append(path)
            case .directory, .other: break
            }
        }
        return found
    }

    /// Returns the highest of the decimal numbers up to `limit` that are names in the directories in
    /// `directory`; nil if there is none. Keeps no names in memory.
    func highestNumber(below directory: String, limit: UInt64) throws(SystemError) -> UInt64? {
        var highest: UInt64?
        for parent in try contents(of: directory).directories {
            let stream = try DirectoryStream(
                Descriptor(opening: parent, in: root, flags: O_RDONLY | O_DIRECTORY))
            while let name = try stream.next()?.name {
                guard let number = Self.number(name), number <= limit else { continue }
                highest = max(highest ?? 0, number)
            }
        }
        return highest
    }

    private static func number(_ digits: [UInt8]) -> UInt64? {
        guard !digits.isEmpty, digits.count < 20 else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            number = number * 10 + UInt64(digit - 0x30)
        }
        return number
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
