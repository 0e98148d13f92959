import Glibc

/// Everything below a directory that local and remote have to agree on.
struct TreeSnapshot: Equatable {
    struct Entry: Equatable {
        enum Kind: Equatable {
            case file(digest: Int, size: Int, modifiedNanoseconds: Int)
            case directory
            case symlink(target: String)
            case other
        }

        var kind: Kind
        /// Permission bits; those of a symbolic link mean nothing.
        var mode: mode_t
    }

    /// By path below the directory.
    var entries: [String: Entry] = [:]

    init() {}

    init(of root: String) throws {
        try add(root, below: "")
    }

    /// Describes the differences for a test's message; empty if there are none.
    func differences(from other: TreeSnapshot) -> [String] {
        Set(entries.keys).union(other.entries.keys).sorted().compactMap { path in
            let here = entries[path]
            let there = other.entries[path]
            guard here != there else { return nil }
            return "\(path): \(Self.text(here)) against \(Self.text(there))"
        }
    }

    private static func text(_ entry: Entry?) -> String {
        entry.map { "\($0.kind) mode \(String($0.mode, radix: 8))" } ?? "nothing"
    }

    private mutating func add(_ root: String, below prefix: String) throws {
        for name in try Files.names(in: root + prefix) {
            let path = "\(prefix)/\(name)"
            let entry = try Self.entry(at: root + path)
            entries[path] = entry
            if entry.kind == .directory { try add(root, below: path) }
        }
    }

    private static func entry(at path: String) throws -> Entry {
        let status = try Files.status(path)
        let mode = status.st_mode & 0o7777
        switch status.st_mode & S_IFMT {
        case S_IFREG:
            let bytes = try Files.read(path)
            let modified = status.st_mtim.tv_sec * 1_000_000_000 + status.st_mtim.tv_nsec
            return Entry(
                kind: .file(
                    digest: digest(bytes), size: bytes.count, modifiedNanoseconds: modified),
                mode: mode)
        case S_IFDIR:
            return Entry(kind: .directory, mode: mode)
        case S_IFLNK:
            return Entry(kind: .symlink(target: try Files.linkTarget(path)), mode: 0)
        default:
            return Entry(kind: .other, mode: mode)
        }
    }

    /// Equal for equal bytes within this process.
    private static func digest(_ bytes: [UInt8]) -> Int {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }
}
